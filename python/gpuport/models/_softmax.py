"""The running maximum and shifted sum, and the softmax that follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from gpuport.models._values import Number, Trace, elements, note, number, require_sequence


class State(NamedTuple):
    """The maximum m of some elements, and d = sum of exp(x - m). The empty state is (-inf, 0)."""

    m: float
    d: float


EMPTY = State(-math.inf, 0.0)


def softmax_state(values: Sequence[Number | None], trace: Trace | None = None) -> State:
    """m and d of all values in one pass. Each value is read once; None is masked out.

    Args:
        values: finite numbers, or None.
        trace: gets the pair after each value that takes part.

    Raises:
        ValueError: a value is not finite, or there is none that takes part.
    """
    require_sequence(values, "values")
    m, d = EMPTY
    for index, value in enumerate(elements(values)):
        if value is None:
            continue
        x = _finite(value, index)
        top = max(m, x)
        d = d * math.exp(m - top) + math.exp(x - top)
        m = top
        note(trace, f"value {index}", (m, d))
    if d == 0:
        raise ValueError("no value takes part: all are masked out, or there is none")
    return State(m, d)


def merge_states(a: tuple[float, float], b: tuple[float, float]) -> State:
    """The state of the elements of both. Merging with the empty state gives the other as it is."""
    first, second = State(*a), State(*b)
    if second.m == -math.inf:
        return first
    if first.m == -math.inf:
        return second
    m = max(first.m, second.m)
    return State(m, first.d * math.exp(first.m - m) + second.d * math.exp(second.m - m))


def softmax(values: Sequence[Number | None], trace: Trace | None = None) -> list[float]:
    """exp(x - m) / d for each value, 0 where it is None. Each value is read twice.

    Args:
        values: finite numbers, or None.
        trace: gets the "maximum", then the "shifted sum", then the "output".

    Raises:
        ValueError: a value is not finite, or there is none that takes part.
    """
    m, d = softmax_state(values)
    note(trace, "maximum", [m])
    note(trace, "shifted sum", [d])
    output = [
        0.0 if value is None else math.exp(_finite(value, index) - m) / d
        for index, value in enumerate(elements(values))
    ]
    note(trace, "output", output)
    return output


def _finite(value: Any, index: int) -> float:
    try:
        x = float(number(value, f"values[{index}]"))
    except OverflowError:
        x = float(value)
    if not math.isfinite(x):
        raise ValueError(f"values[{index}] is {x}, which is not finite")
    return x
