"""Static libraries: the members of a Unix archive in the GNU form."""

from __future__ import annotations

from collections.abc import Iterator

from .binary import cut
from .errors import FormatError

MAGIC = b"!<arch>\n"
_HEADER_SIZE = 60


def members(data: memoryview) -> Iterator[tuple[str, memoryview]]:
    offset, long_names = len(MAGIC), b""
    while offset < len(data):
        header = bytes(cut(data, offset, _HEADER_SIZE, "archive member"))
        name, number = header[:16].rstrip(), header[48:58].strip()
        if header[58:] != b"`\n" or not number.isdigit():
            raise FormatError(f"archive: no member begins at byte {offset}")
        content = cut(data, offset + _HEADER_SIZE, int(number), "archive member")
        if name == b"//":
            long_names = bytes(content)
        elif name not in (b"/", b"/SYM64/"):  # the tables of symbols
            if name[:1] == b"/" and name[1:].isdigit():
                name = long_names[int(name[1:]) :].partition(b"\n")[0]
            yield name.rstrip(b"/").decode("utf-8", "backslashreplace"), content
        offset += _HEADER_SIZE + len(content) + len(content) % 2
