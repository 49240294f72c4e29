"""Elements that are kept."""

from __future__ import annotations

from typing import Any

from gpuport import _flat
from gpuport._arguments import Options

__all__ = ["compact", "nonzero"]


def compact(
    x: Any,
    keep: Any,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """The elements of x that are kept, in C order; NumPy's `x[keep != 0]`.

    They keep their bits, NaN too. All rules: gpuport/rules.md.

    The size of the result is read from the device, so on a GPU this waits, and is refused while a
    graph is captured.

    Args:
        x: an array of any shape.
        keep: a boolean or integer array of x's shape, on the same device; anything but 0 keeps. It
            may be x itself.

    Returns:
        An array of one dimension and x's dtype.

    Raises:
        TypeError: x of an unsupported dtype, or keep of floats.
        ValueError: keep of another shape; with nonfinite="raise" for elements that are kept.
        gpuport.Error: the stream is being captured.
    """
    if keep is None:
        raise TypeError("keep must be an array, not None")
    return _flat.compact(
        "compact", x, keep, Options(backend, variant, warp_size, stream, nonfinite)
    )


def nonzero(
    x: Any,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """Indices of the elements of x that are not 0, in C order of the flattened array.

    NumPy calls this `flatnonzero`; `numpy.unravel_index` makes one index per dimension of them.
    Waits for the size of the result as `compact` does. All rules: gpuport/rules.md.

    Args:
        x: a boolean or integer array of any shape.

    Returns:
        An int64 array of one dimension.

    Raises:
        TypeError: x of floats or of an unsupported dtype.
        ValueError: an unfit variant or keyword.
        gpuport.Error: the stream is being captured.
    """
    return _flat.compact(
        "nonzero", x, None, Options(backend, variant, warp_size, stream, nonfinite)
    )
