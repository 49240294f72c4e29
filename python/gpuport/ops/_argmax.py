"""Where the largest and the smallest elements stand."""

from __future__ import annotations

from typing import Any

from gpuport._arguments import Options
from gpuport._dispatch import Operation, perform
from gpuport._replay import replayed

__all__ = ["argmax", "argmin"]


@replayed
def argmax(
    x: Any,
    axis: int | None = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """Index of the largest element, of all or along an axis.

    The lowest index on ties; -0.0 and 0.0 are equal. The first NaN wins, as in NumPy. All rules:
    gpuport/rules.md.

    Args:
        x: an array.
        axis: the axis to look along; the whole array in C order if None.

    Returns:
        An int64 array of x's shape without the axis.

    Raises:
        TypeError: x of an unsupported dtype, or an axis that is no integer.
        ValueError: the axis holds no elements or is out of bounds; an unfit variant or keyword.
    """
    return _index_of("argmax", x, axis, Options(backend, variant, warp_size, stream, nonfinite))


@replayed
def argmin(
    x: Any,
    axis: int | None = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """Index of the smallest element, of all or along an axis.

    The lowest index on ties; -0.0 and 0.0 are equal. The first NaN wins, as in NumPy. All rules:
    gpuport/rules.md.

    Args:
        x: an array.
        axis: the axis to look along; the whole array in C order if None.

    Returns:
        An int64 array of x's shape without the axis.

    Raises:
        TypeError: x of an unsupported dtype, or an axis that is no integer.
        ValueError: the axis holds no elements or is out of bounds; an unfit variant or keyword.
    """
    return _index_of("argmin", x, axis, Options(backend, variant, warp_size, stream, nonfinite))


def _index_of(op: str, x: Any, axis: Any, options: Options) -> Any:
    if isinstance(axis, tuple):
        raise TypeError(f"{op}: axis must be an integer or None, not {axis!r}")
    operation = Operation(op, "argmax", op, lambda name: "int64", reduces=True, has_identity=False)
    return perform(operation, x, axis, None, None, options)
