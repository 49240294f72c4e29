"""What a user's own kernel must compute, said in one object, for `gpuport check FILE --spec`."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpuport.testing import dtypes
from gpuport.testing.case import Answer, Case, Operand, Problem, Spec, Target
from gpuport.testing.dtypes import Array
from gpuport.testing.sizes import SMALL_SIZES

Extent = int | tuple[int, ...]

_C_NAMES: Final = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long long", "float16": "__half", "float32": "float", "float64": "double",
}  # fmt: skip
_QUICK_UP_TO = 65  # past one warp of either width


@dataclass(frozen=True, kw_only=True)
class KernelSpec:
    """A kernel, the calls that show what it does, and what NumPy makes of the same inputs.

    Args:
        kernel: its name, or an instantiation: "saxpy", "scale<float, 4>", "scale<{type}>" with the
            C++ type of each of `dtypes` in the place of {type}.
        inputs: (n, dtype, rng) -> arrays by name. `rng` is seeded by the case.
        reference: the same arrays, by name -> what the kernel must write, as one array.
        args: (arrays, n) -> the arguments of the launch. `arrays.out` is the output; the inputs
            have their names. The output holds poison, and bytes around every array are watched.
        updates: the input that the kernel writes over; it then is `out`, with its values in it.
        block: threads of a block.
        grid: n -> blocks. Default: enough for a thread an element, and at least one.
        shared_mem: n -> bytes of dynamic shared memory.
        dtypes: what `inputs` is asked for; a name has no meaning to the sweep but that.
        sizes: every n. Default: 0, 1, 2, and the edges of warps, blocks and tiles.
        rtol, atol: a result may be off by atol + rtol * |expected|; the default asks for equality.
    """

    kernel: str
    inputs: Callable[[int, str, np.random.Generator], Mapping[str, Array]]
    reference: Callable[..., npt.ArrayLike]
    args: Callable[[SimpleNamespace, int], tuple[Any, ...]]
    updates: str = ""
    block: Extent = 256
    grid: Callable[[int], Extent] | None = None
    shared_mem: Callable[[int], int] = lambda n: 0
    dtypes: tuple[str, ...] = ("float32",)
    sizes: tuple[int, ...] = SMALL_SIZES
    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        unknown = [name for name in self.dtypes if name not in dtypes.ALL]
        if isinstance(self.dtypes, str) or unknown or not self.dtypes:
            raise ValueError(f"dtypes={self.dtypes!r}: a tuple of {', '.join(dtypes.ALL)}")
        if not self.sizes or not all(isinstance(n, int) and n >= 0 for n in self.sizes):
            raise ValueError(f"sizes={self.sizes!r}: a tuple of ints from 0 on")
        if "{type}" in self.kernel and (other := set(self.dtypes) - set(_C_NAMES)):
            raise ValueError(f"{self.kernel}: there is no C++ type for {', '.join(sorted(other))}")

    def name(self, dtype: str) -> str:
        """The kernel's name for a dtype, as `gpuport.load` knows it."""
        return self.kernel.replace("{type}", _C_NAMES.get(dtype, ""))

    def blocks(self, n: int) -> Extent:
        if self.grid is not None:
            return self.grid(n)
        return max(1, -(-n // int(np.prod(self.block))))


@dataclass(frozen=True)
class OwnKernel(Spec):
    """A `KernelSpec` as the engine runs it, under the name that it has in the file of specs."""

    spec: KernelSpec = field(kw_only=True)

    @property
    def kernel(self) -> str:
        return self.variant

    def cases(self, target: Target) -> Iterator[Case]:
        quick = max(_QUICK_UP_TO, min(self.spec.sizes))
        for dtype in self.dtypes:
            for n in self.spec.sizes:
                yield Case(self.variant, dtype, (n,), "own", quick=n <= quick)

    def problem(self, case: Case) -> Problem:
        """Calls `inputs` and `reference`; what they raise is a failure of the case."""
        spec, (n,) = self.spec, case.shape
        rng = np.random.default_rng(zlib.crc32(f"{case.dtype} {n}".encode()))
        inputs = {
            name: np.array(array, order="C")
            for name, array in spec.inputs(n, case.dtype, rng).items()
        }
        if "out" in inputs:
            raise ValueError("an input cannot be called out: that is the output")
        answer = np.asarray(spec.reference(**{name: a.copy() for name, a in inputs.items()}))
        if spec.updates:
            updated = inputs.get(spec.updates)
            if updated is None:
                raise ValueError(f"updates={spec.updates!r} is no input: {', '.join(inputs)}")
            if (updated.shape, updated.dtype) != (answer.shape, answer.dtype):
                raise ValueError(
                    f"the reference gives {answer.dtype}{answer.shape}, and {spec.updates}, which "
                    f"the kernel updates, is {updated.dtype}{updated.shape}"
                )
        values, dtype = _values(answer, "the reference")
        bound = None
        if spec.rtol or spec.atol:
            bound = spec.atol + spec.rtol * np.abs(values)
        return Problem(
            {name: Operand(*_values(array, f"input {name}")) for name, array in inputs.items()},
            {"n": n, "dtype": case.dtype},
            Answer(values, dtype, bound, f"rtol {spec.rtol:g}, atol {spec.atol:g}"),
        )


def _values(array: Array, what: str) -> tuple[Array, str]:
    """Values as the engine holds them, and the dtype that they have in memory."""
    name = array.dtype.name
    if name not in dtypes.ALL:
        raise TypeError(f"{what} is of {name}; there are {', '.join(dtypes.ALL)}")
    return array.astype(dtypes.values(name)), name
