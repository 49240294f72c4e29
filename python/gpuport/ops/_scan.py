"""Running sums."""

from __future__ import annotations

from typing import Any

from gpuport._arguments import Options
from gpuport._dispatch import Operation, perform
from gpuport._dtypes import EXACT, scan_result
from gpuport._replay import replayed

__all__ = ["exclusive_scan", "inclusive_scan"]


@replayed
def exclusive_scan(
    x: Any,
    axis: int | None = -1,
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
    """Sum of the elements before each one along an axis; 0 at the first.

    Every element is widened before it is added. Integers wrap as NumPy's do. float16 and bfloat16
    are added in float32 and each result is rounded once. A NaN reaches every result after it, and
    none before. All rules: gpuport/rules.md.

    Every default repeats floats bit for bit: their order depends on the length and the device
    alone, not on timing, layout or `out`.

    Args:
        x: an array.
        axis: along which to add; None takes the whole array in C order as one row (NumPy would
            flatten the result too).
        dtype: of result and accumulator. Default: int64 for bool and signed, uint64 for unsigned,
            x's own for floats. Allowed too: float64 for bool and integers, int64 for unsigned of up
            to 32 bits, uint64 for bool. Other floats are not widened: convert x first.
        out: see the module; may be x itself.

    Returns:
        An array of x's shape.

    Raises:
        TypeError: x, dtype or out of an unsupported dtype.
        ValueError: an axis out of bounds, an unfit out, variant or keyword.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _scan("exclusive_scan", x, axis, dtype, out, options)


@replayed
def inclusive_scan(
    x: Any,
    axis: int | None = -1,
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
    """Sum of the elements up to and with each one along an axis, as NumPy's `cumsum`.

    Every element is widened before it is added. Integers wrap as NumPy's do. float16 and bfloat16
    are added in float32 and each result is rounded once. A NaN reaches its own result and every
    one after it. Every default repeats floats bit for bit. All rules: gpuport/rules.md.

    Args:
        x: an array.
        axis: along which to add; None takes the whole array in C order as one row.
        dtype: of result and accumulator. Default: int64 for bool and signed, uint64 for unsigned,
            x's own for floats. Allowed too: float64 for bool and integers, int64 for unsigned of up
            to 32 bits, uint64 for bool.
        out: see the module; may be x itself.

    Returns:
        An array of x's shape.

    Raises:
        TypeError: x, dtype or out of an unsupported dtype, or an axis that is no integer.
        ValueError: an axis out of bounds, an unfit out, variant or keyword.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _scan("inclusive_scan", x, axis, dtype, out, options)


def _scan(op: str, x: Any, axis: Any, dtype: Any, out: Any, options: Options) -> Any:
    if isinstance(axis, tuple):
        raise TypeError(f"{op}: axis must be an integer or None, not {axis!r}")
    operation = Operation(
        op,
        "scan",
        op,
        lambda name: scan_result(op, name, dtype),
        reduces=False,
        compute_dtype=_converted,
    )
    return perform(operation, x, axis, None, out, options)


def _converted(source: str, result: str) -> str:
    """Kernels widen to 64-bit integers only; for a float64 result they get float64 elements."""
    return "float64" if source in EXACT and result == "float64" else source
