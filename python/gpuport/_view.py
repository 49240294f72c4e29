"""An array as the native modules see it, whatever library it came from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuport._dtypes import ITEMSIZE, numpy_dtype
from gpuport._layout import Ints, contiguous_strides
from gpuport._native import Matrix, Strided
from gpuport._numpy import np

if TYPE_CHECKING:
    import numpy.typing as npt


# Named tuples, here and in what else every import of gpuport takes: a dataclass takes eight times
# as long to make.
class Place(NamedTuple):
    """Where an array lives: the backend that reaches its memory, and the device's ordinal."""

    backend: str
    device: int = 0

    def __str__(self) -> str:
        return "the host" if self.backend == "cpu" else f"{self.backend} device {self.device}"


HOST = Place("cpu")


class Memory(NamedTuple):
    """The bytes of an array as they lie in its owner's hands; `steps` are strides in bytes.

    `form` says how an element is written there: the dtype, and whatever else it takes to read it.
    """

    address: int
    form: str
    itemsize: int
    shape: Ints
    steps: Ints


class View(NamedTuple):
    """Address, dtype, shape and strides (in elements). `owner` keeps the memory alive.

    `origin` is what the caller has where this is a copy of it, or a copy for it: what overlaps and
    what is the same is a matter of the caller's bytes.
    """

    address: int
    dtype: str
    shape: Ints
    strides: Ints
    place: Place
    owner: Any
    readonly: bool = False
    origin: Memory | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return ITEMSIZE[self.dtype]

    @property
    def nbytes(self) -> int:
        """Of the elements, without gaps."""
        return self.size * self.itemsize

    @property
    def memory(self) -> Memory:
        """The caller's."""
        if self.origin is not None:
            return self.origin
        size = self.itemsize
        steps = tuple(s * size for s in self.strides)
        return Memory(self.address, self.dtype, size, self.shape, steps)

    @property
    def strided(self) -> Strided:
        return (self.address, self.dtype, self.strides)

    def matrix(self, offset: int, row_stride: int, col_stride: int) -> Matrix:
        return (self.address + offset * self.itemsize, self.dtype, row_stride, col_stride)

    def row(self) -> Matrix:
        """One dimension as the one row of a matrix."""
        (stride,) = self.strides
        return self.matrix(0, 0, stride)

    def between(self, first: int, last: int) -> View:
        """A part of one dimension."""
        (stride,) = self.strides
        address = self.address + first * stride * self.itemsize
        return self._replace(address=address, shape=(last - first,))

    def broadcast_to(self, shape: Ints) -> View:
        """The same elements under a larger shape; ValueError where it does not fit."""
        lead = len(shape) - len(self.shape)
        if lead < 0 or any(n not in (1, m) for n, m in zip(self.shape, shape[lead:], strict=True)):
            raise ValueError(f"shape {self.shape} does not broadcast to {shape}")
        strides = tuple(
            s if n == m else 0
            for n, m, s in zip(self.shape, shape[lead:], self.strides, strict=True)
        )
        return self._replace(shape=shape, strides=(0,) * lead + strides)

    def is_same_as(self, other: View) -> bool:
        """Whether both name the same elements in the same order."""
        mine, theirs = self.memory, other.memory
        return mine[:-1] == theirs[:-1] and all(
            a == b for n, a, b in zip(mine.shape, mine.steps, theirs.steps, strict=True) if n > 1
        )

    def overlaps(self, other: View) -> bool:
        """Whether any byte belongs to both. Too hard to decide counts as yes."""
        if self.place != other.place or self.size == 0 or other.size == 0:
            return False
        # NumPy's solver works on addresses alone: the memory is never touched, so it may be a
        # GPU's.
        work: Any = 100_000
        try:
            return np.shares_memory(_shadow(self.memory), _shadow(other.memory), max_work=work)
        except np.exceptions.TooHardError:
            return True


def require_address(address: int, size: int, argument: str) -> None:
    """ValueError for elements at a null address."""
    if address == 0 and size:
        raise ValueError(
            f"{argument} has no memory: the address of its {size} elements is null, "
            "as of freed storage or of a tensor that only has a shape"
        )


class Output(NamedTuple):
    """Where results go. `commit` is called once they are there (or enqueued to be)."""

    view: View
    commit: Callable[[], None] | None = None


class _Exposed:
    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def _expose(memory: Memory, typestr: str, readonly: bool, owner: Any) -> npt.NDArray[Any]:
    return np.asarray(
        _Exposed(
            {
                "data": (memory.address, readonly),
                "shape": memory.shape,
                "strides": memory.steps,
                "typestr": typestr,
                "version": 3,
            },
            owner,
        )
    )


def _shadow(memory: Memory) -> npt.NDArray[Any]:
    return _expose(memory, f"|V{memory.itemsize}", readonly=True, owner=None)


def host_array(view: View) -> npt.NDArray[Any]:
    """The view as a NumPy array over the same memory, which must be the host's."""
    dtype = numpy_dtype(view.dtype)
    if view.size == 0:
        return np.empty(view.shape, dtype)
    itself = view._replace(origin=None).memory
    return _expose(itself, f"<u{view.itemsize}", view.readonly, view.owner).view(dtype)


def packed(address: int, dtype: str, shape: Ints, place: Place, owner: Any) -> View:
    """A C-contiguous view."""
    return View(address, dtype, shape, contiguous_strides(shape), place, owner)
