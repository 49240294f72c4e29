"""What is known about a compiled module: its kernels, what they take, its variables.

Plain tuples, because a module that comes from the cache shall be there at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """One parameter of a kernel. `kind` and `element` are numbers of reflect.h."""

    name: str
    type: str
    kind: int
    size: int
    alignment: int
    element: int
    element_size: int
    readonly: bool


class KernelRecord(NamedTuple):
    """A kernel. `name` is how it is asked for, `symbol` how the binary calls it.

    `unclear` says why nobody knows the symbol.
    """

    name: str
    symbol: str
    parameters: tuple[Parameter, ...]
    unclear: str = ""

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(p.type or '?' for p in self.parameters)})"


class GlobalRecord(NamedTuple):
    """A variable of the device, the element that it is made of, and the extents of an array."""

    name: str
    symbol: str
    kind: int
    element_size: int
    shape: tuple[int, ...] = ()


class ModuleRecord(NamedTuple):
    """All that the loader has to know to use the files of a module, which are by architecture.

    `warnings` are told whenever it is loaded.
    """

    kernels: tuple[KernelRecord, ...]
    globals: tuple[GlobalRecord, ...]
    compiler: str
    files: dict[str, str]
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: list[Any]) -> ModuleRecord:
        """From the lists that JSON makes of the tuples."""
        kernels, variables, compiler, files, warnings = data
        return cls(
            tuple(
                KernelRecord(name, symbol, tuple(Parameter(*p) for p in parameters), unclear)
                for name, symbol, parameters, unclear in kernels
            ),
            tuple(
                GlobalRecord(name, symbol, kind, size, tuple(shape))
                for name, symbol, kind, size, shape in variables
            ),
            compiler,
            files,
            tuple(warnings),
        )
