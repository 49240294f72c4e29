"""What a spec says: cases by name, and for each the problem, the answer, how close it must be."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuport.testing.dtypes import Array


@dataclass(frozen=True, slots=True)
class Target:
    """Where a kernel is run: a backend, the warp width asked of it, one of its devices."""

    backend: str
    warp_size: int
    device: int = 0
    memory: int = 0  # bytes on the device; 0 where it is the host's own

    @property
    def is_gpu(self) -> bool:
        return self.backend != "cpu"

    def __str__(self) -> str:
        return f"{self.backend} w{self.warp_size}"


@dataclass(frozen=True, slots=True)
class Case:
    """One call of one kernel. Its name says everything that is needed to run it again."""

    op: str
    dtype: str
    shape: tuple[int, ...]
    regime: str = "uniform"
    axis: int | None = None
    layout: str = "packed"
    mask: str | None = None
    segments: str | None = None
    order: int = 0  # seed of the order of lanes, warps and blocks on the CPU; 0 is launch order
    refused: bool = False  # the kernel must say no, by its problem's exception, and write nothing
    invariants: bool = False  # also the checks that need more than one call
    quick: bool = False  # part of `check --quick`

    @property
    def name(self) -> str:
        size = "x".join(str(extent) for extent in self.shape) or "scalar"
        parts = [self.op, self.dtype, size]
        if self.axis is not None:
            parts.append(f"axis{self.axis}")
        parts.append(self.regime)
        if self.layout != "packed":
            parts.append(self.layout)
        if self.mask is not None:
            parts.append(f"mask.{self.mask}")
        if self.segments is not None:
            parts.append(f"segments.{self.segments}")
        if self.order:
            parts.append(f"order{self.order}")
        if self.refused:
            parts.append("refused")
        return "-".join(parts)


@dataclass(frozen=True, slots=True)
class Operand:
    """One array of a call: its values, its element type, how it lies in memory."""

    values: Array
    dtype: str
    layout: str = "packed"


@dataclass(frozen=True, slots=True)
class Sparse:
    """An operand too large to hold twice: zeros, but for a few elements by flat index."""

    shape: tuple[int, ...]
    dtype: str
    elements: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """The expected values, and the allowed distance of each one; None asks for equality."""

    values: Array
    dtype: str
    bound: Array | None = None
    why: str = "exact"  # where the bound comes from, for the reader of a failure


@dataclass(frozen=True, slots=True)
class Problem:
    """Operands by the names of the arguments; `a.m` and `a.d` are the pair that is argument a.

    An operand under two names is one array, given twice.
    """

    operands: Mapping[str, Operand | Sparse]
    options: Mapping[str, Any]
    answer: Answer
    takes_out: bool = True
    refusal: type[Exception] = ValueError  # what a case that must be refused raises


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a result is wrong."""

    message: str
    expected: str = ""
    got: str = ""


# Runs the case's call again, with other operands, without `out=` or with x itself as `out`, and
# gives the values that came back.
Rerun = Callable[..., Array]
Invariant = Callable[[Case, Problem, Array, Rerun], Difference | None]


@dataclass(frozen=True, slots=True)
class Shape:
    """A benchmark shape and what it stands for.

    `op` is the family's own choice where it is empty; `pattern` says where segments end, what a
    compaction keeps, or that the call runs along the first axis (see specs/workloads.py).
    """

    dtype: str
    shape: tuple[int, ...]
    why: str
    op: str = ""
    pattern: str = ""


@dataclass(frozen=True)
class Spec(ABC):
    """What one kernel must compute. A family derives from it once; each variant is an instance."""

    variant: str
    dtypes: tuple[str, ...]
    deterministic: bool = True
    repeatable: tuple[str, ...] = ()  # dtypes whose results repeat where not all of them do
    benchmark: tuple[Shape, ...] = ()
    family: str = field(default="", init=False)

    @property
    def kernel(self) -> str:
        return f"{self.family}.{self.variant}"

    def repeats(self, dtype: str) -> bool:
        """Whether results for this dtype have the same bits on every run."""
        return self.deterministic or dtype in self.repeatable

    @abstractmethod
    def cases(self, target: Target) -> Iterator[Case]:
        """Every case of the sweep, cheap to list: no data is made here."""

    @abstractmethod
    def problem(self, case: Case) -> Problem:
        """The data of one case, the same on every machine, and the independent answer."""

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        """Checks over more than one call, by name; run for the cases that ask for them."""
        return {}

    def skip(self, case: Case, target: Target) -> str | None:
        """Why this case cannot run here, or None."""
        return None
