"""What a softmax needs to know of a row, taken apart and put together."""

from __future__ import annotations

from typing import Any

from gpuport import _states
from gpuport._arguments import Options
from gpuport._dispatch import Operation, perform
from gpuport._dtypes import FLOATS

__all__ = ["merge_softmax_states", "softmax_state"]


def softmax_state(
    x: Any,
    axis: int | tuple[int, ...] | None = -1,
    mask: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """The maximum m and the sum d of exp(x - m), along axes.

    exp(x - m) / d is the softmax and m + log(d) the logsumexp; the state of a row is merged from
    those of its parts by `merge_softmax_states`. Elements of +inf count 1 each where m is +inf; a
    NaN leaves m the maximum of the others and makes d NaN. All rules: gpuport/rules.md.

    Args:
        x: an array; integers are computed as float64.
        axis: along which to go; None takes the whole array.
        mask: a boolean array that broadcasts to x's shape, on the same device; where it is False
            the element takes no part.

    Returns:
        (m, d), two arrays of x's shape without the axes: float32 for float16, bfloat16 and
        float32, else float64. The empty state (-inf, 0) for a row that is empty, masked out
        altogether, or all -inf.

    Raises:
        TypeError: x of an unsupported dtype, or a mask that is not boolean.
        ValueError: an axis out of bounds, a mask that does not fit, an unfit variant or keyword;
            with nonfinite="raise" also a row that is masked out altogether.
    """
    operation = Operation(
        "softmax_state",
        "softmax",
        "softmax_state",
        lambda name: "float32" if name in FLOATS and name != "float64" else "float64",
        reduces=True,
        compute_dtype=lambda source, result: source if source in FLOATS else result,
        results=2,
    )
    options = Options(backend, variant, warp_size, stream, nonfinite)
    return perform(operation, x, axis, mask, None, options)


def merge_softmax_states(
    a: Any,
    b: Any,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """The states of what a and b are the states of, taken together.

    m is the larger maximum, d = a.d exp(a.m - m) + b.d exp(b.m - m). Merging with the empty state
    (-inf, 0) gives the other, bit for bit; two empty states give the empty one. The order of
    several merges shows in the last bits of d only. All rules: gpuport/rules.md.

    Args:
        a, b: pairs (m, d) as `softmax_state` gives them: four arrays of one shape and one dtype,
            float32 or float64, on one device.

    Returns:
        (m, d), two arrays of that shape and dtype.

    Raises:
        TypeError: no pair, or arrays of another dtype.
        ValueError: arrays of different shapes or in different places; with nonfinite="raise" a
            state that is neither finite nor empty.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite)
    return _states.merge("merge_softmax_states", a, b, options)
