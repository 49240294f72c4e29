"""Segments of a vector, each folded to one element."""

from __future__ import annotations

from typing import Any

from gpuport import _flat
from gpuport._arguments import Options
from gpuport._dtypes import sum_result

__all__ = ["segmented_max", "segmented_min", "segmented_sum"]


def segmented_sum(
    x: Any,
    offsets: Any,
    check: bool = True,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """Sum of each segment x[offsets[i]:offsets[i + 1]].

    Every element is widened before it is added, as in `sum`. The sum of an empty segment is 0.
    Elements before the first offset or after the last belong to no segment. The order of the
    additions depends on the offsets alone, so results repeat bit for bit. All rules:
    gpuport/rules.md.

    Args:
        x: an array of one dimension.
        offsets: k offsets for k - 1 segments, one after the other: a list, or an array of any
            integer type in one dimension, on x's device or on the host. From the host they are
            copied to a GPU, which waits for it.
        check: whether to look at the offsets before anything is launched. Those on a GPU are read
            for that, which waits. With False offsets that are wrong give undefined results, or an
            invalid access.

    Returns:
        An array of k - 1 elements: int64 for bool and signed x, uint64 for unsigned, x's dtype for
        floats. Empty for one offset.

    Raises:
        TypeError: x of an unsupported dtype, offsets that are no integers, or check no bool.
        ValueError: x of several dimensions, no offsets at all, or offsets of several dimensions;
            with check=True, naming the position, an offset below 0, below the one before it, or
            past the end of x; an unfit variant or keyword.
        gpuport.Error: something has to wait while the stream is being captured.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _flat.segmented("segmented_sum", "sum", _sum, x, offsets, check, options)


def segmented_max(
    x: Any,
    offsets: Any,
    check: bool = True,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """Largest element of each segment, in x's dtype. NaN wins, as in NumPy.

    An empty segment gives what every element is at least: -inf, the least integer of the type, or
    False. Elements before the first offset or after the last belong to no segment. All rules:
    gpuport/rules.md.

    Args:
        x: an array of one dimension.
        offsets: k offsets for k - 1 segments, one after the other: a list, or an array of any
            integer type in one dimension, on x's device or on the host.
        check: whether to look at the offsets before anything is launched, which waits for those on
            a GPU. With False wrong ones give undefined results, or an invalid access.

    Returns:
        An array of k - 1 elements of x's dtype. Empty for one offset.

    Raises:
        TypeError: x of an unsupported dtype, offsets that are no integers, or check no bool.
        ValueError: x of several dimensions, no offsets at all, or offsets of several dimensions;
            with check=True, naming the position, an offset below 0, below the one before it, or
            past the end of x; an unfit variant or keyword.
        gpuport.Error: something has to wait while the stream is being captured.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _flat.segmented("segmented_max", "max", _same, x, offsets, check, options)


def segmented_min(
    x: Any,
    offsets: Any,
    check: bool = True,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """Smallest element of each segment, in x's dtype. NaN wins, as in NumPy.

    An empty segment gives what every element is at most: inf, the greatest integer of the type, or
    True. Elements before the first offset or after the last belong to no segment. All rules:
    gpuport/rules.md.

    Args:
        x: an array of one dimension.
        offsets: k offsets for k - 1 segments, one after the other: a list, or an array of any
            integer type in one dimension, on x's device or on the host.
        check: whether to look at the offsets before anything is launched, which waits for those on
            a GPU. With False wrong ones give undefined results, or an invalid access.

    Returns:
        An array of k - 1 elements of x's dtype. Empty for one offset.

    Raises:
        TypeError: x of an unsupported dtype, offsets that are no integers, or check no bool.
        ValueError: x of several dimensions, no offsets at all, or offsets of several dimensions;
            with check=True, naming the position, an offset below 0, below the one before it, or
            past the end of x; an unfit variant or keyword.
        gpuport.Error: something has to wait while the stream is being captured.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _flat.segmented("segmented_min", "min", _same, x, offsets, check, options)


def _sum(name: str) -> str:
    return sum_result(name, None)


def _same(name: str) -> str:
    return name
