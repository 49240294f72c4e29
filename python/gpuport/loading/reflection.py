"""Reading what `reflect.h` left in a binary, on every backend."""

from __future__ import annotations

from struct import Struct

from gpuport.inspection.elf import Elf
from gpuport.loading.records import Parameter

# A record of reflect.h.
_RECORD = Struct("<BBBxIII")


class Reflection:
    """The tables that `reflect.h` left in a binary."""

    def __init__(self, binary: bytes) -> None:
        self._elf = Elf(memoryview(binary))
        self._symbols = {symbol.name: symbol for symbol in self._elf.symbols}

    def records(self, symbol: str) -> list[tuple[int, ...]] | None:
        """(kind, element, read-only, size, alignment, element size) each; None if not there."""
        found = self._symbols.get(symbol)
        if found is None or found.section >= len(self._elf.sections):
            return None
        section = self._elf.sections[found.section]
        content = self._elf.content(section)
        start = found.value - section.address
        data = bytes(content[start : start + found.size]) or bytes(found.size)
        records = list(_RECORD.iter_unpack(data))
        return [record for record in records if record[3]]

    def parameters(
        self, symbol: str, names: tuple[str, ...], types: tuple[str, ...]
    ) -> tuple[Parameter, ...] | None:
        """The parameters of one kernel, with the names that the source has for them."""
        records = self.records(symbol)
        if records is None:
            return None
        if len(names) != len(records):
            names = types = ("",) * len(records)
        return tuple(
            Parameter(name, type_, kind, size, alignment, element, element_size, bool(readonly))
            for name, type_, (kind, element, readonly, size, alignment, element_size) in zip(
                names, types, records, strict=True
            )
        )
