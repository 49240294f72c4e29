"""The part of ELF that GPU code needs: 64-bit little-endian, sections, symbols, notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from struct import Struct

from .binary import cut, text, unpack
from .errors import FormatError

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
MACHINE_AMDGPU = 224
RELOCATABLE = 1
SYMBOL_FUNCTION = 2

# Only for naming the host of a file in a message.
HOSTS = {3: "i386", 21: "ppc64", 40: "arm", 62: "x86-64", 183: "aarch64", 243: "riscv"}

_SECTION_NOBITS = 8
_SECTION_NOTE = 7
_SECTION_SYMBOLS = 2
_SEGMENT_NOTE = 4
_HEADER = Struct("<16xHHIQQQIHHHHHH")
_SECTION = Struct("<IIQQQQIIQQ")
_SEGMENT = Struct("<IIQQQQQQ")
_SYMBOL = Struct("<IBBHQQ")
_NOTE = Struct("<III")


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    type: int
    offset: int
    size: int
    link: int
    info: int
    address: int = 0


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    type: int
    other: int
    section: int
    value: int
    size: int


@dataclass(frozen=True, slots=True)
class Note:
    owner: str
    type: int
    description: memoryview


def _section(name: str, entry: tuple[int, ...]) -> Section:
    _, kind, _, address, offset, size, link, info, _, _ = entry
    return Section(name, kind, offset, size, link, info, address)


class Elf:
    """A parsed header and section table; the rest is read when it is asked for."""

    def __init__(self, data: memoryview) -> None:
        if len(data) < 16 or data[:4] != MAGIC:
            raise FormatError("ELF header: cut short or absent")
        if data[4] != 2 or data[5] != 1:
            raise FormatError("ELF: only 64-bit little-endian files are read")
        self.data = data
        self.abi_version = data[8]
        self.type: int
        self.machine: int
        self.version: int
        self.flags: int
        fields = unpack(_HEADER, data, 0, "ELF header")
        self.type, self.machine, self.version = fields[0], fields[1], fields[2]
        self._sections_at, self.flags = fields[5], fields[6]
        self._section_count, self._names_in = fields[11], fields[12]
        self._segments = cut(data, fields[4], fields[9] * _SEGMENT.size, "ELF program headers")

    @cached_property
    def sections(self) -> list[Section]:
        count, names_in = self._section_count, self._names_in
        if self._sections_at == 0:
            return []
        if count == 0 or names_in == 0xFFFF:  # the real numbers do not fit and are in entry 0
            first = self._section_entry(0)
            count, names_in = count or first[5], first[6] if names_in == 0xFFFF else names_in
        cut(self.data, self._sections_at, count * _SECTION.size, "ELF section table")
        entries = [self._section_entry(index) for index in range(count)]
        if names_in >= count:
            raise FormatError("ELF: the table of section names does not exist")
        names = cut(self.data, entries[names_in][4], entries[names_in][5], "ELF section names")
        sections = [
            _section(text(names, entry[0], "ELF section names"), entry) for entry in entries
        ]
        for section in sections:
            self.content(section)  # a file cut short is refused, whatever was wanted of it
        return sections

    def _section_entry(self, index: int) -> tuple[int, ...]:
        offset = self._sections_at + index * _SECTION.size
        return unpack(_SECTION, self.data, offset, "ELF section table")

    def content(self, section: Section) -> memoryview:
        if section.type == _SECTION_NOBITS:
            return self.data[:0]
        return cut(self.data, section.offset, section.size, f"ELF section {section.name}")

    @cached_property
    def symbols(self) -> list[Symbol]:
        table = next((s for s in self.sections if s.type == _SECTION_SYMBOLS), None)
        if table is None:
            return []
        if table.link >= len(self.sections):
            raise FormatError("ELF: the table of symbol names does not exist")
        names = self.content(self.sections[table.link])
        content = self.content(table)
        if len(content) % _SYMBOL.size:
            raise FormatError("ELF symbol table: its size is no whole number of symbols")
        return [
            Symbol(text(names, name, "ELF symbol names"), info & 15, other, section, value, size)
            for name, info, other, section, value, size in _SYMBOL.iter_unpack(content)
        ]

    def notes(self) -> Iterator[Note]:
        """From the sections, and from the segments of a file whose sections are stripped."""
        parts = [self.content(s) for s in self.sections if s.type == _SECTION_NOTE]
        for part in parts or self._note_segments():
            offset = 0
            while offset < len(part):
                name_size, size, kind = unpack(_NOTE, part, offset, "ELF note")
                name_at = offset + _NOTE.size
                owner = bytes(cut(part, name_at, name_size, "ELF note")).rstrip(b"\0")
                described_at = name_at + (name_size + 3 & ~3)
                description = cut(part, described_at, size, "ELF note")
                yield Note(owner.decode("latin-1"), kind, description)
                offset = described_at + (size + 3 & ~3)

    def _note_segments(self) -> Iterator[memoryview]:
        for segment in _SEGMENT.iter_unpack(self._segments):
            if segment[0] == _SEGMENT_NOTE:
                yield cut(self.data, segment[2], segment[5], "ELF note segment")
