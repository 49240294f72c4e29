"""sum, max and min."""

from __future__ import annotations

from typing import Any

from gpuport._arguments import Options, require_bool, require_word
from gpuport._dispatch import Operation, perform
from gpuport._dtypes import EXACT, sum_result
from gpuport._replay import replayed

__all__ = ["max", "min", "sum"]


@replayed
def sum(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    dtype: Any = None,
    out: Any = None,
    overflow: str = "wrap",
    compensated: bool = False,
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
    All rules: gpuport/rules.md.

    Args:
        x: an array.
        axis: the axes to sum along; all of them if None, in C order.
        dtype: of result and accumulator. Default: int64 for bool and signed, uint64 for unsigned,
            x's own for floats. Allowed too: float64 for all, float32 for float16 and bfloat16,
            int64 for unsigned of up to 32 bits, uint64 for bool.
        out: see the module.
        overflow: "wrap", or "raise": OverflowError where a sum of integers, taken from left to
            right in C order, leaves the accumulator (int64 or uint64) at any point, also if later
            elements would bring it back. This waits for the device, so it is refused while a graph
            is captured. Nothing is written to out then.
        compensated: sum the rounding errors of float additions too. The result is off by at most
            half a unit in its last place, of its own dtype, and n**2 * 2**-105 times the sum of
            magnitudes: for n up to 2**26 less than a double can show. The order of the additions
            is fixed, so it repeats bit for bit. NaN and infinities propagate as in any sum. Sums
            of integers are exact without it.

    Returns:
        An array of x's shape without the axes.

    Raises:
        TypeError: x, dtype or out of an unsupported dtype; overflow="raise" for a float result.
        ValueError: an axis out of bounds, an unfit out, variant or keyword.
        OverflowError: see overflow; names the position of the first such row.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    require_word("overflow", overflow, "wrap", "raise")
    require_bool("compensated", compensated)
    checked = overflow == "raise"
    asked = str(variant).removeprefix("reduce.")

    def exact(name: str) -> bool:
        return not checked and name in EXACT and sum_result(name, dtype) in EXACT

    def kernel_op(source: str, result: str) -> str:
        if checked and result not in EXACT:
            raise TypeError(f"sum: overflow='raise' is for integer sums, not for {result}")
        if checked:
            return "checked_sum"
        if asked == "compensated" and result in EXACT:
            raise ValueError(
                f"sum: reduce.compensated is for sums of floats; this one of {result} is exact "
                "without it, or ask for a float with dtype="
            )
        return "compensated_sum" if compensated and result not in EXACT else "sum"

    operation = Operation(
        "sum",
        "reduce",
        "sum",
        lambda name: sum_result(name, dtype),
        reduces=True,
        any_order=exact,
        kernel_op=kernel_op,
        flags=checked,
        compute_dtype=_summed_as,
    )
    return perform(operation, x, axis, None, out, options)


@replayed
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

    All rules: gpuport/rules.md.

    Args:
        x: an array.
        axis: the axes to look along; all of them if None.
        out: see the module.

    Returns:
        An array of x's shape without the axes, and of its dtype.

    Raises:
        TypeError: x of an unsupported dtype, out of another than x's, or an axis that is no
            integer.
        ValueError: the reduced axes hold no elements; an axis out of bounds, an unfit out, variant
            or keyword.
    """
    return _extreme("max", x, axis, out, Options(backend, variant, warp_size, stream, nonfinite))


@replayed
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

    All rules: gpuport/rules.md.

    Args:
        x: an array.
        axis: the axes to look along; all of them if None.
        out: see the module.

    Returns:
        An array of x's shape without the axes, and of its dtype.

    Raises:
        TypeError: x of an unsupported dtype, out of another than x's, or an axis that is no
            integer.
        ValueError: the reduced axes hold no elements; an axis out of bounds, an unfit out, variant
            or keyword.
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


def _summed_as(source: str, result: str) -> str:
    """Kernels widen floats to float64, but not integers, which are converted before."""
    return "float64" if result == "float64" and source in EXACT else source
