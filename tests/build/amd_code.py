"""Reading AMD code objects: out of a built module, and what their notes say of each kernel."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"


def wavefront_size(target: str) -> int:
    """What the hardware has: 64 lanes up to gfx9 (GCN, CDNA), 32 from gfx10 on (RDNA)."""
    generation = int(target.removeprefix("gfx")[:-2], 16)
    return 64 if generation <= 9 else 32


def code_objects(binary: Path) -> Iterator[tuple[str, bytes]]:
    """Each AMD code object in a binary, with its target.

    A bundle is a magic word, the number of entries, and for each its offset, size and triple.
    """
    data = binary.read_bytes()
    at = data.find(MAGIC)
    while at >= 0:
        (count,) = struct.unpack_from("<Q", data, at + len(MAGIC))
        entry = at + len(MAGIC) + 8
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, entry)
            triple = data[entry + 24 : entry + 24 + length].decode()
            entry += 24 + length
            if "amdgcn" in triple:
                yield triple.split("--")[1].split(":")[0], data[at + offset : at + offset + size]
        at = data.find(MAGIC, at + 1)


def readelf() -> str | None:
    return shutil.which("llvm-readelf-19") or shutil.which("llvm-readelf-15")


def kernels(code_object: Path) -> dict[str, int]:
    """Kernel names of a code object with their wavefront sizes, from its notes."""
    tool = readelf()
    assert tool is not None
    notes = subprocess.run(
        [tool, "--notes", str(code_object)], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    # The notes are YAML; `- .agpr_count` or `- .args` begins a kernel, whose keys are sorted.
    for kernel in re.split(r"^  - ", notes, flags=re.MULTILINE)[1:]:
        name = re.search(r"^    \.name: +(\S+)$", kernel, re.MULTILINE)
        size = re.search(r"^    \.wavefront_size: +(\d+)$", kernel, re.MULTILINE)
        if name and size:
            found[name[1]] = int(size[1])
    return found
