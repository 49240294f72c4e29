"""Reading what `reflect.h` left in a binary, on every backend."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from struct import Struct

from gpuport.errors import CompileError
from gpuport.inspection.demangle import demangled
from gpuport.inspection.elf import Elf
from gpuport.loading.entries import Entries, KernelEntry
from gpuport.loading.records import GlobalRecord, KernelRecord, Parameter

# A record of reflect.h.
_RECORD = Struct("<BBBxIII")


# What GPUPORT_SYMBOL leaves: a kernel's number, and its name at the end.
_TOLD = re.compile(r"\bgpuport_kernel_symbol<(\d+)u?,.*>\Z", re.DOTALL)


def _unpack(data: bytes) -> list[tuple[int, ...]]:
    # A kernel without parameters has one record of size 0, since no array can be empty.
    return [record for record in _RECORD.iter_unpack(data) if record[3]]


class Tables(ABC):
    """What both kinds of code have in common."""

    symbols: list[str]

    @abstractmethod
    def records(self, symbol: str) -> list[tuple[int, ...]] | None:
        """(kind, element, read-only, size, alignment, element size) each; None if not there."""

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


class Reflection(Tables):
    """The tables that `reflect.h` left in a binary."""

    def __init__(self, binary: bytes) -> None:
        self._elf = Elf(memoryview(binary))
        self._symbols = {symbol.name: symbol for symbol in self._elf.symbols}
        self.symbols = list(self._symbols)

    def records(self, symbol: str) -> list[tuple[int, ...]] | None:
        """(kind, element, read-only, size, alignment, element size) each; None if not there."""
        found = self._symbols.get(symbol)
        if found is None or found.section >= len(self._elf.sections):
            return None
        section = self._elf.sections[found.section]
        content = self._elf.content(section)
        start = found.value - section.address
        data = bytes(content[start : start + found.size]) or bytes(found.size)
        return _unpack(data)


class PtxReflection(Tables):
    """The tables in the text of PTX."""

    _TABLE = re.compile(r"\.b8 (gpuport_\w+)\[(\d+)\](?: = \{([\d, ]*)\})?;")
    _NAME = re.compile(r"\.(?:entry|global|const)\b[^;(={]*?([\w$]+)(?:\[\d*\])?\s*[;(={]")

    def __init__(self, text: str) -> None:
        self._tables: dict[str, bytes] = {}
        for name, size, numbers in self._TABLE.findall(text):
            data = bytes(int(number) for number in numbers.split(",") if number.strip())
            self._tables[name] = data.ljust(int(size), b"\0")
        self.symbols = [name for name in self._NAME.findall(text) if name not in self._tables]

    def records(self, symbol: str) -> list[tuple[int, ...]] | None:
        data = self._tables.get(symbol)
        return None if data is None else _unpack(data)


def device_records(
    entries: Entries, tables: Tables, names: Mapping[str, str]
) -> tuple[tuple[KernelRecord, ...], tuple[GlobalRecord, ...]]:
    """The kernels and variables of device code; `names` are the symbols that a compiler told."""
    readable = demangled(s for s in tables.symbols if not s.startswith(("gpuport_", ".")))
    told = {m[1]: name for name in readable.values() if (m := _TOLD.search(name))}
    readable = {s: name for s, name in readable.items() if not _TOLD.search(name)}
    kernels = []
    for entry in entries.kernels:
        parameters = tables.parameters(
            f"gpuport_parameters_{entry.number}", entry.parameters, entry.types
        )
        if parameters is not None:
            symbol = names.get(entry.qualified) or _told_symbol(
                told.get(str(entry.number), ""), readable
            )
            unclear = ""
            if not symbol:
                symbol, unclear = _kernel_symbol(entry, readable)
            if unclear and entry.asked_for:
                raise CompileError(unclear)
            kernels.append(KernelRecord(entry.name, symbol, parameters, unclear))
    variables = []
    for variable in entries.globals:
        records = tables.records(f"gpuport_element_{variable.number}")
        qualified = variable.variable.qualified
        if records:
            found = names.get(f"&{qualified}") or _variable_symbol(qualified, readable)
            if found:
                variables.append(global_record(qualified, found, records))
    return tuple(kernels), tuple(variables)


def global_record(name: str, symbol: str, records: list[tuple[int, ...]]) -> GlobalRecord:
    """A variable by its records: the first is of its element, each further one of an extent."""
    element, *extents = records
    return GlobalRecord(name, symbol, element[1], element[5], tuple(e[3] for e in extents))


def _plain(name: str) -> str:
    """A demangled name without what compilers put around and into it."""
    name = re.sub(r"\((?:anonymous namespace)\)::|_GLOBAL__N_\w*::", "", name)
    return "".join(name.removeprefix("void ").split())


def _split(name: str) -> tuple[str, str]:
    """Name with template arguments, and the parameters."""
    plain = _plain(name)
    if not plain.endswith(")"):
        return plain, ""
    depth = 0
    for at in range(len(plain) - 1, -1, -1):
        depth += (plain[at] == ")") - (plain[at] == "(")
        if depth == 0:
            return plain[:at], plain[at + 1 : -1]
    return plain, ""


def _told_symbol(told: str, readable: Mapping[str, str]) -> str:
    """The symbol whose readable name is the last template argument of `gpuport_kernel_symbol`."""
    for symbol, name in readable.items():
        if told.endswith((f", &{name}>", f", &({name})>", f", {name}>", f", ({name})>")):
            return symbol
    return ""


def _kernel_symbol(entry: KernelEntry, readable: Mapping[str, str]) -> tuple[str, str]:
    """The symbol of a kernel by its readable name: the same template arguments, then parameters.

    Or why it is unclear.
    """
    wanted = _plain(entry.asked_for or entry.name).lstrip("&")
    base = wanted.partition("<")[0]
    found = {s: _split(name) for s, name in readable.items()}
    found = {s: parts for s, parts in found.items() if parts[0].partition("<")[0] == base}
    if len(found) > 1:
        exact = {s: parts for s, parts in found.items() if parts[0] == wanted}
        found = exact or found
    if len(found) > 1:
        types = "".join("".join(entry.types).split()).replace("const", "")
        found = {
            s: parts
            for s, parts in found.items()
            if parts[1].replace("const", "").replace(",", "") == types.replace(",", "")
        }
    if len(found) != 1:
        names = ", ".join(sorted(readable[s] for s in found) or sorted(readable.values()))
        return "", (
            f"{entry.place or entry.name}: which symbol is {entry.name}? The compiled code has "
            f"{names}; C++17 or newer tells them apart"
        )
    return next(iter(found)), ""


def _variable_symbol(qualified: str, readable: Mapping[str, str]) -> str | None:
    wanted = "".join(qualified.split())
    return next((s for s, name in readable.items() if _plain(name) == wanted), None)
