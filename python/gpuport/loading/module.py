"""A loaded module and its kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from gpuport import _launcher
from gpuport._dtypes import ALL
from gpuport.device_array import DeviceArray
from gpuport.errors import CompileError
from gpuport.loading.arrays import NUMPY_DTYPES, SCALARS, element_of
from gpuport.loading.compiled_only import CompiledOnly
from gpuport.loading.records import KernelRecord, ModuleRecord

if TYPE_CHECKING:  # a module from the cache does not wait for these
    from gpuport.loading.global_variable import GlobalVariable
    from gpuport.loading.loaded_code import LoadedCode

__all__ = ["Kernel", "Module", "Overloads"]


class Kernel(_launcher.Kernel):
    """A kernel of a loaded module: `kernel(grid, block, args, shared_mem=0, stream=None)`.

    `grid` and `block` are an int or a tuple of up to three; `args` a tuple with one value for each
    parameter:

    - a pointer takes a C-contiguous array of its element type on the module's device, None for a
      null pointer, or a `numpy.uintp` as a bare address; a pointer to a struct takes any array of
      whole structs, `void*` any array. A read-only array needs a pointer to const.
    - a number takes a Python number in its range, or a NumPy scalar of exactly its type. A bool
      takes True, False, 0 and 1; an integer no float.
    - a struct takes a structured or complex NumPy scalar, or a buffer, of its size.

    On the CPU the call returns when the kernel has ended; on a GPU it is enqueued on `stream`, by
    default the current stream of the first array's library. `cooperative=True` lets blocks wait for
    each other.

    Raises:
        TypeError: too few or too many arguments, or one that does not fit; names the parameter.
        OverflowError: a Python number out of the parameter's range.
        LaunchError: the launch is refused, or (on the CPU) the kernel failed; names the kernel.
    """

    def __init__(self, record: KernelRecord, code: LoadedCode) -> None:
        records = [
            (p.name, p.type, p.kind, p.size, p.alignment, p.element, p.element_size, p.readonly)
            for p in record.parameters
        ]
        super().__init__(record.name, code.function(record), records, code.target())
        self._record = record
        self._code = code

    @property
    def signature(self) -> str:
        """The kernel and the types of its parameters, as the source writes them."""
        return self._record.signature

    @property
    def attributes(self) -> dict[str, int]:
        """The attributes of the compiled kernel, by CUDA's names in lower case.

        The CPU has only `max_threads_per_block` and `max_dynamic_shared_size_bytes`.
        """
        return self._code.attributes(self.function)

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """How much `shared_mem` a launch may ask for; above 48 KiB it has to be set first."""
        return self._code.attributes(self.function)["max_dynamic_shared_size_bytes"]

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, nbytes: int) -> None:
        self._code.set_dynamic_shared(self.function, nbytes)

    def occupancy(self, block: int, shared_mem: int = 0) -> int:
        """How many blocks of that many threads one multiprocessor holds at once.

        Raises:
            TypeError: no int.
            ValueError: the kernel has no such block.
        """
        for name, value in (("block", block), ("shared_mem", shared_mem)):
            if not hasattr(value, "__index__"):
                raise TypeError(f"{self.name}: {name} must be an int, not {value!r}")
        if not 0 <= int(block) < 2**31 or not 0 <= int(shared_mem) < 2**31:
            raise ValueError(f"{self.name}: no block has such a number of threads or bytes")
        block, shared_mem = int(block), int(shared_mem)
        return self._code.occupancy(self.function, block, shared_mem)

    def __repr__(self) -> str:
        return f"<kernel {self.signature} on {self._code.place}>"


class UnavailableKernel:
    """A kernel that was compiled for a device that is not here: it has a name and a signature."""

    def __init__(self, record: KernelRecord, code: CompiledOnly) -> None:
        self.name = record.name
        self.signature = record.signature
        self._code = code

    def __call__(self, *arguments: Any, **keywords: Any) -> None:
        """Raise BackendUnavailableError, which says why it cannot run."""
        raise self._code.unavailable()

    def __getattr__(self, name: str) -> Any:
        if name in ("attributes", "occupancy", "max_dynamic_shared_size_bytes"):
            raise self._code.unavailable()
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"<kernel {self.signature} for {self._code.place}, which is not here>"


AnyKernel: TypeAlias = "Kernel | UnavailableKernel | Overloads"


class Overloads:
    """Kernels of one name: a call goes to the one whose parameters the arguments fit."""

    def __init__(self, kernels: list[Kernel]) -> None:
        self.kernels = tuple(kernels)

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: Any = (),
        shared_mem: int = 0,
        stream: Any = None,
        cooperative: bool = False,
    ) -> None:
        """Launch the one kernel that fits; TypeError where none does, or more than one."""
        fitting, reasons = [], []
        for kernel in self.kernels:
            try:
                kernel.check(args)
                fitting.append(kernel)
            except (TypeError, OverflowError) as error:
                reasons.append(f"{kernel.signature}: {error}")
        if not fitting:
            raise TypeError("no overload takes these arguments:\n  " + "\n  ".join(reasons))
        if len(fitting) > 1:
            names = ", ".join(kernel.signature for kernel in fitting)
            raise TypeError(f"the arguments fit {names}; take one of them by its signature")
        fitting[0](grid, block, args, shared_mem, stream, cooperative)

    def __repr__(self) -> str:
        return f"<overloads {', '.join(kernel.signature for kernel in self.kernels)}>"


class Module:
    """The kernels of a source, compiled for one backend and loaded on one device.

    A kernel is an attribute by its name, unless the module has one of that name already, and an
    item by its name, its name expression or its signature, as in `mod["scale<float>"]` and
    `mod["put(float*, int)"]`.
    """

    def __init__(self, record: ModuleRecord, code: LoadedCode | CompiledOnly) -> None:
        self._record = record
        self._code = code
        self._kernels: dict[str, AnyKernel] = {}

    @property
    def backend(self) -> str:
        return self._code.place.backend

    @property
    def device(self) -> int:
        """The ordinal of the device."""
        return self._code.place.device

    @property
    def archs(self) -> tuple[str, ...]:
        """The architectures that it was compiled for; none on the CPU."""
        return tuple(filter(None, self._record.files))

    @property
    def compiler(self) -> str:
        """What compiled it."""
        return self._record.compiler

    @property
    def warnings(self) -> tuple[str, ...]:
        """What in the source means something else here than on an NVIDIA GPU, with its place."""
        return self._record.warnings

    @property
    def warp_size(self) -> int:
        """The lanes of a warp on that device; 0 where it is not here."""
        return self._code.warp_size

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names that kernels are asked for by."""
        return tuple(dict.fromkeys(kernel.name for kernel in self._record.kernels))

    def get_function(self, name: str) -> AnyKernel:
        """The kernel of a name, a name expression or a signature, or AttributeError.

        CompileError where the compiled code does not tell overloads apart.
        """
        found = self._kernels.get(name)
        if found is None:
            found = self._kernels[name] = self._make(name)
        return found

    def _make(self, name: str) -> AnyKernel:
        wanted = "".join(name.split())
        records = [k for k in self._record.kernels if wanted == "".join(k.name.split())]
        if not records:
            # Without its namespaces or its template arguments, where that says which one is meant.
            records = [k for k in self._record.kernels if name == _short(k.name)]
            if len({k.name for k in records}) > 1:
                names = ", ".join(k.name for k in records)
                raise AttributeError(f"{name!r} may be any of {names}; take one as an item")
        if not records:
            records = [k for k in self._record.kernels if wanted == "".join(k.signature.split())]
        if not records:
            names = ", ".join(self.kernels) or "none"
            raise AttributeError(
                f"the module has no kernel {name!r}; it has {names} "
                "(a template is compiled where name_expressions ask for it)"
            )
        for record in records:
            if record.unclear:
                raise CompileError(record.unclear)
        if isinstance(self._code, CompiledOnly):
            return UnavailableKernel(records[0], self._code)
        kernels = [Kernel(record, self._code) for record in records]
        return kernels[0] if len(kernels) == 1 else Overloads(kernels)

    def get_global(self, name: str) -> GlobalVariable:
        """A `__device__`, `__constant__` or `__managed__` variable, or AttributeError."""
        records = [v for v in self._record.globals if name == v.name]
        records = records or [v for v in self._record.globals if name == _short(v.name)]
        if len(records) != 1:
            names = ", ".join(v.name for v in self._record.globals) or "none"
            raise AttributeError(f"the module has no variable {name!r}; it has {names}")
        if isinstance(self._code, CompiledOnly):
            raise self._code.unavailable()
        from gpuport.loading.global_variable import GlobalVariable

        record = records[0]
        address, nbytes = self._code.variable(record)
        return GlobalVariable(record, address, nbytes, self._code)

    def __getattr__(self, name: str) -> AnyKernel:
        # Python asks for names of its own, and for ours before they are set in a copy.
        if name.startswith("__") or name in ("_record", "_code", "_kernels"):
            raise AttributeError(name)
        found = self.get_function(name)
        self.__dict__[name] = found  # the next time Python finds it without asking here
        return found

    def __getitem__(self, name: str) -> AnyKernel:
        try:
            return self.get_function(name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(str.isidentifier, map(_short, self.kernels))})

    def __repr__(self) -> str:
        return f"<module of {', '.join(self.kernels) or 'no kernels'} on {self._code.place}>"


def _short(name: str) -> str:
    return name.partition("<")[0].rpartition("::")[2].strip()


def _prepare_launcher() -> None:
    import numpy as np

    whole, part = np.zeros((2, 3), "f4"), np.zeros((4, 3), "i2")[::2, 1:]
    part.flags.writeable = False
    _launcher.register_numpy(np.ndarray, NUMPY_DTYPES, [whole, part])
    for scalar, (kind, size) in SCALARS.items():
        sample = scalar(3)
        _launcher.register_scalar(scalar, kind, size, sample, sample.tobytes())
    _launcher.register_device_array(DeviceArray, {name: element_of(name) for name in reversed(ALL)})


_prepare_launcher()
