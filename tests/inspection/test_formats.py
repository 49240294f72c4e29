"""The decoders by themselves: LZ4, Zstandard, MessagePack, names."""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_inputs import gencode, nvcc

from gpuport.inspection import FormatError, compression, demangle, fatbin, msgpack


def lz4(text: str, size: int) -> bytes:
    return bytes(compression.lz4_block(memoryview(bytes.fromhex(text)), size, "test"))


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("00", b""),
        ("50 48 65 6c 6c 6f", b"Hello"),
        # Two literals, then 4 + 4 bytes from two back: the copy overlaps what it writes.
        ("24 61 62 02 00 10 63", b"ababababab" + b"c"),
        # A length over 15 goes on in further bytes: 15 + 3 literals; 15 + 255 + 1 + 4 copied.
        ("f0 03 " + "78 " * 18, b"x" * 18),
        ("1f 79 01 00 ff 01 10 7a", b"y" * 276 + b"z"),
    ],
)
def test_lz4_block(block: str, expected: bytes) -> None:
    assert lz4(block, len(expected)) == expected


@pytest.mark.parametrize(
    ("block", "size"),
    [
        ("50 48", 5),  # fewer literals than promised
        ("10 61 02 00", 5),  # a copy from before the beginning
        ("10 61 00 00", 5),  # a copy from nowhere
        ("50 48 65 6c 6c 6f", 4),  # more than promised
        ("50 48 65 6c 6c 6f", 6),  # less
        ("1f 61 01 00 ff", 300),  # a length without an end
    ],
)
def test_damaged_lz4_block(block: str, size: int) -> None:
    with pytest.raises(FormatError, match="damaged LZ4 data"):
        lz4(block, size)


def ptx_entry(path: Path) -> fatbin.Entry:
    entries = list(fatbin.entries(memoryview(path.read_bytes())))
    return next(entry for entry in entries if entry.kind == fatbin.PTX)


def test_nvcc_compresses_the_same_text_in_three_ways(tmp_path: Path) -> None:
    texts = {}
    for mode in ("none", "speed", "size"):
        options = ["-fatbin", f"--compress-mode={mode}", *gencode("90:sm_90,compute_90")]
        entry = ptx_entry(nvcc(tmp_path / f"{mode}.fatbin", *options))
        texts[mode] = bytes(entry.payload()).rstrip(b"\0")
        assert (len(entry.stored) < len(texts[mode])) == (mode != "none")
    assert b".target sm_90" in texts["none"]
    assert texts["speed"] == texts["none"]
    assert texts["size"] == texts["none"]


ZSTD_TEXT = b"gpuport " * 9
ZSTD_FRAME = bytes.fromhex("28b52ffd204875000040677075706f72742001009d54b8")  # by libzstd 1.5.4


@pytest.mark.parametrize("hidden", [(), ("compression.zstd", "zstandard")])
def test_zstandard(hidden: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in hidden:
        monkeypatch.setitem(sys.modules, module, None)
    frame = memoryview(ZSTD_FRAME)
    assert bytes(compression.zstandard(frame, len(ZSTD_TEXT), "test")) == ZSTD_TEXT
    for wrong in (len(ZSTD_TEXT) - 1, len(ZSTD_TEXT) + 1):
        with pytest.raises(FormatError, match="test: damaged Zstandard data"):
            compression.zstandard(frame, wrong, "test")


def test_without_any_zstandard_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_library(name: str) -> ctypes.CDLL:
        raise OSError(name)

    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setattr(compression.ctypes, "CDLL", no_library)
    with pytest.raises(FormatError, match="pip install zstandard"):
        compression.zstandard(memoryview(b"\x28\xb5\x2f\xfd"), 10, "test")


def test_damaged_zstandard() -> None:
    with pytest.raises(FormatError, match="test: damaged Zstandard data"):
        compression.zstandard(memoryview(b"\x28\xb5\x2f\xfd" + bytes(9)), 10, "test")


def test_a_size_beyond_reason_is_refused_before_memory_is_asked_for() -> None:
    for decompress in (compression.zlib, compression.zstandard, compression.lz4_block):
        with pytest.raises(FormatError, match="test: 9 bytes that claim to hold 1073741824"):
            decompress(memoryview(bytes(9)), 1 << 30, "test")


def pack(value: Any) -> bytes:
    """MessagePack written independently of the reader, always in its longest form."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return b"\xd3" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"\xdb" + struct.pack(">I", len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(pack, value))
    items = b"".join(pack(key) + pack(item) for key, item in value.items())
    return b"\xdf" + struct.pack(">I", len(value)) + items


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_msgpack_round_trip(value: Any) -> None:
    assert msgpack.decode(memoryview(pack(value))) == value


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        ("05", 5),
        ("ff", -1),
        ("a3 61 62 63", "abc"),
        ("92 01 02", [1, 2]),
        ("81 a1 61 07", {"a": 7}),
        ("cc ff", 255),
        ("cd 01 00", 256),
        ("d0 80", -128),
        ("d9 01 61", "a"),
        ("dc 00 01 c3", [True]),
    ],
)
def test_msgpack_short_forms(encoded: str, expected: Any) -> None:
    assert msgpack.decode(memoryview(bytes.fromhex(encoded))) == expected


@pytest.mark.parametrize("encoded", ["", "a5 61", "92 01", "81 c0 01", "c1", "cd 01", "91" * 50])
def test_damaged_msgpack(encoded: str) -> None:
    with pytest.raises(FormatError, match="code object metadata"):
        msgpack.decode(memoryview(bytes.fromhex(encoded)))


def test_msgpack_float() -> None:
    assert msgpack.decode(memoryview(b"\xca" + struct.pack(">f", 0.5))) == 0.5
    assert math.isinf(msgpack.decode(memoryview(b"\xcb" + struct.pack(">d", math.inf))))


NAMES = {
    "_Z5plainPi": "plain(int*)",
    "_ZN36_GLOBAL__N__3bfd3780_5_an_cu__Z2goPi4anonEPi": "(anonymous namespace)::anon(int*)",
    "written_in_c": "written_in_c",
    "_Zbroken": "_Zbroken",
}


def test_names_are_demangled() -> None:
    assert demangle.demangled(NAMES) == NAMES


def test_names_without_a_library_come_from_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangle, "_library", lambda: None)
    if demangle.shutil.which("c++filt") is None:
        pytest.skip("needs c++filt")
    assert demangle.demangled(NAMES) == NAMES


def test_names_without_any_demangler_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangle, "_library", lambda: None)
    monkeypatch.setattr(demangle.shutil, "which", lambda _: None)
    assert demangle.demangled(NAMES) == {name: name for name in NAMES}
