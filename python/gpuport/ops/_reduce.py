"""sum, max and min."""

from __future__ import annotations

from typing import Any

from gpuport._arguments import Options
from gpuport._dispatch import Operation, perform
from gpuport._dtypes import EXACT, sum_result

__all__ = ["max", "min", "sum"]


def sum(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """Sum of all elements, or along axes.

    Every element is widened before it is added. Integers wrap as NumPy's do. float16 and bfloat16
    are added in float32 and rounded once. NaN and infinities propagate; the sum of nothing is 0.
    All rules: docs/rules.md.

    Args:
        x: an array.
        axis: the axes to sum along; all of them if None, in C order.
        dtype: of result and accumulator. Default: int64 for bool and signed, uint64 for unsigned,
            x's own for floats. Allowed too: float64 for all, float32 for float16 and bfloat16,
            int64 for unsigned of up to 32 bits, uint64 for bool.
        out: see the module.

    Returns:
        An array of x's shape without the axes.

    Raises:
        TypeError: x, dtype or out of an unsupported dtype.
        ValueError: an axis out of bounds, an unfit out, variant or keyword.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)

    def exact(name: str) -> bool:
        return name in EXACT and sum_result(name, dtype) in EXACT

    operation = Operation(
        "sum", "reduce", "sum", lambda name: sum_result(name, dtype), reduces=True, any_order=exact
    )
    return perform(operation, x, axis, None, out, options)


def max(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """Largest element, or largest along axes, in x's dtype. NaN wins, as in NumPy.

    All rules: docs/rules.md.

    Raises:
        ValueError: the reduced axes hold no elements.
    """
    return _extreme("max", x, axis, out, Options(backend, variant, warp_size, stream, nonfinite))


def min(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """Smallest element, or smallest along axes, in x's dtype. NaN wins, as in NumPy.

    All rules: docs/rules.md.

    Raises:
        ValueError: the reduced axes hold no elements.
    """
    return _extreme("min", x, axis, out, Options(backend, variant, warp_size, stream, nonfinite))


def _extreme(op: str, x: Any, axis: Any, out: Any, options: Options) -> Any:
    operation = Operation(
        op,
        "reduce",
        op,
        lambda name: name,
        reduces=True,
        any_order=lambda name: True,
        has_identity=False,
    )
    return perform(operation, x, axis, None, out, options)
