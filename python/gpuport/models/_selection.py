"""The largest element, the kept elements, the sums of segments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeVar

from gpuport.models._values import (
    Number,
    Trace,
    add,
    elements,
    note,
    numbers,
    require_sequence,
)

T = TypeVar("T")


def argmax(values: Sequence[Number], trace: Trace | None = None) -> int:
    """Index of the largest value: the lowest on ties, that of the first NaN before all others.

    Pairs of value and index are folded by a tree, neighbours first.

    Args:
        values: at least one; -0.0 and 0.0 are equal.
        trace: gets the pairs of each level.

    Raises:
        ValueError: there are no values.
    """
    pairs = [(value, index) for index, value in enumerate(numbers(values, "values"))]
    if not pairs:
        raise ValueError("argmax of no values")
    while len(pairs) > 1:
        pairs = [_better(*pairs[at : at + 2]) for at in range(0, len(pairs), 2)]
        note(trace, f"{len(pairs)} left", pairs)
    return pairs[0][1]


def _better(a: tuple[Number, int], b: tuple[Number, int] | None = None) -> tuple[Number, int]:
    """Of two pairs of which the first has the lower index."""
    if b is None or a[0] != a[0]:
        return a
    return b if b[0] > a[0] or b[0] != b[0] else a


def compact(values: Sequence[T], keep: Sequence[Any], trace: Trace | None = None) -> list[T]:
    """The values where `keep` is not zero, in order.

    The exclusive scan of the flags says where each kept value goes; the others write nothing.

    Args:
        values: anything.
        keep: bools or integers, as many as values.
        trace: gets the "flags", the "destinations" and what is "kept".

    Raises:
        TypeError: keep holds something else.
        ValueError: keep is longer or shorter than values.
    """
    require_sequence(values, "values")
    require_sequence(keep, "keep")
    flags: list[int] = []
    for index, flag in enumerate(elements(keep)):
        if not isinstance(flag, Integral) and type(flag).__name__ not in ("bool", "bool_"):
            raise TypeError(f"keep[{index}] must be a bool or an integer, not {flag!r}")
        flags.append(int(bool(flag)))
    items = list(elements(values))
    if len(items) != len(flags):
        raise ValueError(f"keep has {len(flags)} flags for {len(items)} values")
    note(trace, "flags", flags)
    destinations, kept = [], 0
    for flag in flags:
        destinations.append(kept)
        kept += flag
    note(trace, "destinations", destinations)
    result: list[Any] = [None] * kept
    for item, flag, destination in zip(items, flags, destinations, strict=True):
        if flag:
            result[destination] = item
    note(trace, "kept", result)
    return result


def segmented_sum(values: Sequence[Number], offsets: Sequence[int]) -> list[Number]:
    """The sum of each segment values[offsets[i]:offsets[i + 1]]; 0 for an empty one.

    Args:
        values: numbers.
        offsets: k of them for k - 1 segments.

    Raises:
        TypeError: an offset is no integer.
        ValueError: there are no offsets, or one is below 0, below the one before it, or past the
            end of the values.
        OverflowError: an integer sum leaves int64.
    """
    items = numbers(values, "values")
    require_sequence(offsets, "offsets")
    ends: list[int] = []
    for index, offset in enumerate(elements(offsets)):
        if not isinstance(offset, Integral) or isinstance(offset, bool):
            raise TypeError(f"offsets[{index}] must be an integer, not {offset!r}")
        end = int(offset)
        what = f"offsets[{index}] is {end}"
        if end > len(items):
            raise ValueError(f"{what}, past the end of values, which has {len(items)} elements")
        if end < 0 and not ends:
            raise ValueError(f"{what}; the first one is 0 or more")
        if ends and end < ends[-1]:
            raise ValueError(f"{what}, less than offsets[{index - 1}], which is {ends[-1]}")
        ends.append(end)
    if not ends:
        raise ValueError("offsets is empty; k segments have k + 1 offsets")
    sums: list[Number] = []
    for begin, end in pairwise(ends):
        total: Number = 0
        for item in items[begin:end]:
            total = add(total, item)
        sums.append(total)
    return sums
