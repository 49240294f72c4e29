"""What the models read, add and note down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

Number: TypeAlias = int | float
T = TypeVar("T")

_LEAST, _GREATEST = -(2**63), 2**63 - 1


class Step(NamedTuple):
    """One step of a model: what it is, and the values after it."""

    name: str
    values: list[Any]


Trace: TypeAlias = list[Step]


def note(trace: Trace | None, name: str, values: Iterable[Any]) -> None:
    if trace is not None:
        trace.append(Step(name, list(values)))


class CountedReads(Generic[T]):
    """A sequence that counts how often its elements are read."""

    def __init__(self, values: Sequence[T]) -> None:
        self._values = values
        self.count = 0

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> T:
        value = self._values[index]
        self.count += 1
        return value


def elements(values: Any) -> Iterator[Any]:
    """Each element, read once, each time that this is called."""
    if hasattr(values, "__getitem__") and hasattr(values, "__len__"):
        return (values[index] for index in range(len(values)))
    return iter(values)


def require_sequence(values: Any, argument: str) -> None:
    """TypeError for what cannot be read twice in the same order."""
    if isinstance(values, str | bytes | Mapping | set | frozenset):
        raise TypeError(f"{argument} must be a sequence of numbers, not {type(values).__name__}")
    if not hasattr(values, "__iter__") and not hasattr(values, "__getitem__"):
        raise TypeError(f"{argument} must be a sequence of numbers, not {type(values).__name__}")
    if hasattr(values, "__next__"):
        raise TypeError(
            f"{argument} is an iterator, which can be read once; the models read more than once: "
            "pass a list"
        )


def number(value: Any, where: str) -> Number:
    """An element as a Python number; integers within int64."""
    if isinstance(value, Integral):
        return int64(int(value), where)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{where} must be a number, not {type(value).__name__}")


def numbers(values: Any, argument: str) -> list[Number]:
    require_sequence(values, argument)
    read = enumerate(elements(values))
    return [number(value, f"{argument}[{index}]") for index, value in read]


def int64(value: int, what: str) -> int:
    if not _LEAST <= value <= _GREATEST:
        raise OverflowError(f"{what} is {value}, outside the range of int64")
    return value


def add(a: Number, b: Number) -> Number:
    total = a + b
    return int64(total, f"{a} + {b}") if isinstance(total, int) else total


def require_power_of_two(width: Any, what: str, least: int = 1) -> int:
    if not isinstance(width, Integral) or isinstance(width, bool):
        raise TypeError(f"{what} must be an integer, not {type(width).__name__}")
    size = int(width)
    if size < least or size & (size - 1):
        raise ValueError(f"{what} must be a power of two from {least} on, not {size}")
    return size
