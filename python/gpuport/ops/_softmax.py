"""The softmax family."""

from __future__ import annotations

from typing import Any

from gpuport._arguments import Options
from gpuport._dispatch import Operation, perform
from gpuport._dtypes import FLOATS
from gpuport._replay import replayed

__all__ = ["log_softmax", "logsumexp", "softmax"]


@replayed
def softmax(
    x: Any,
    axis: int | None = -1,
    mask: Any = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """exp(x - max) / sum(exp(x - max)) along an axis.

    A row that holds NaN or +inf, or only -inf, comes out all NaN, as in SciPy and PyTorch; other
    rows are not touched by it. Where the mask is False the element takes no part and its result is
    exactly 0; a row that is masked out altogether is all 0. All rules: gpuport/rules.md.

    Args:
        x: an array; integers are computed as float64.
        axis: along which each row sums to 1; None takes the whole array as one row.
        mask: a boolean array that broadcasts to x's shape, on the same device.
        out: see the module; may be x itself.

    Returns:
        An array of x's shape: x's dtype, float64 for integers and bool. Empty for an empty x.

    Raises:
        TypeError: x or out of an unsupported dtype, a mask that is not boolean, or an axis that is
            no integer.
        ValueError: an axis out of bounds, a mask that does not fit, an unfit out, variant or
            keyword; with nonfinite="raise" also a row that is masked out altogether.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _softmax("softmax", x, axis, mask, out, options)


@replayed
def log_softmax(
    x: Any,
    axis: int | None = -1,
    mask: Any = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """The logarithm of `softmax`, without its underflow: (x - max) - log(sum(exp(x - max))).

    A row that holds NaN or +inf, or only -inf, comes out all NaN; other rows are not touched by it.
    Where the mask is False the element takes no part and its result is -inf, also in a row that is
    masked out altogether. All rules: gpuport/rules.md.

    Args:
        x: an array; integers are computed as float64.
        axis: along which the exponentials of each row sum to 1; None takes the whole array as one
            row.
        mask: a boolean array that broadcasts to x's shape, on the same device.
        out: see the module; may be x itself.

    Returns:
        An array of x's shape: x's dtype, float64 for integers and bool. Empty for an empty x.

    Raises:
        TypeError: x or out of an unsupported dtype, a mask that is not boolean, or an axis that is
            no integer.
        ValueError: an axis out of bounds, a mask that does not fit, an unfit out, variant or
            keyword; with nonfinite="raise" also a row that is masked out altogether.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _softmax("log_softmax", x, axis, mask, out, options)


@replayed
def logsumexp(
    x: Any,
    axis: int | tuple[int, ...] | None = -1,
    mask: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """log(sum(exp(x))) along axes, without overflow.

    -inf for a row that is empty, masked out altogether, or all -inf; +inf for a row that holds +inf
    and no NaN; NaN for a row that holds NaN, as in SciPy. All rules: gpuport/rules.md.

    Args:
        x: an array; integers are computed as float64.
        axis: the axes to sum along; None takes the whole array.
        mask: a boolean array that broadcasts to x's shape, on the same device; where it is False
            the element takes no part.

    Returns:
        An array of x's shape without the axes: x's dtype, float64 for integers and bool.

    Raises:
        TypeError: x of an unsupported dtype, a mask that is not boolean, or an axis that is no
            integer.
        ValueError: an axis out of bounds, a mask that does not fit, an unfit variant or keyword;
            with nonfinite="raise" also a row that is masked out altogether.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    operation = Operation(
        "logsumexp", "softmax", "logsumexp", _float_of, reduces=True, compute_dtype=_as_result
    )
    return perform(operation, x, axis, mask, None, options)


def _softmax(op: str, x: Any, axis: Any, mask: Any, out: Any, options: Options) -> Any:
    if isinstance(axis, tuple):
        raise TypeError(f"{op}: axis must be an integer or None, not {axis!r}")
    operation = Operation(op, "softmax", op, _float_of, reduces=False, compute_dtype=_as_result)
    return perform(operation, x, axis, mask, out, options)


def _float_of(name: str) -> str:
    return name if name in FLOATS else "float64"


def _as_result(source: str, result: str) -> str:
    """Softmax of integers is that of their float64 values."""
    return result
