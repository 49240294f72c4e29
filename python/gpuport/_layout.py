"""Shapes and strides as integers: from an array of any layout to matrices that a kernel can walk.

A kernel reads rows x cols with one row stride and one column stride. Axes whose strides fit
together are merged; what is left over is covered by a few launches, or the operand is packed first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from operator import index
from typing import Any, NamedTuple

Ints = tuple[int, ...]

# Above this many launches a packed copy is cheaper: a launch costs microseconds, a copy reads and
# writes the operand once more.
MAX_LAUNCHES = 32


class Group(NamedTuple):
    """Adjacent axes that act as one: `size` steps of `strides[k]` elements in operand k."""

    size: int
    strides: Ints


class Launch(NamedTuple):
    """One kernel launch; offsets and strides count elements, one of each per operand."""

    rows: int
    cols: int
    offsets: Ints
    row_strides: Ints
    col_strides: Ints


def contiguous_strides(shape: Sequence[int]) -> Ints:
    """C order. Axes of length 0 count as 1, as NumPy and PyTorch do."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * max(shape[i + 1], 1)
    return tuple(strides)


def matrix_strides(shape: Sequence[int], axes: Iterable[int]) -> Ints:
    """Strides of a packed array that keeps the other axes in order and has `axes` innermost."""
    inner = sorted(axes)
    order = [d for d in range(len(shape)) if d not in inner] + inner
    packed = contiguous_strides([shape[d] for d in order])
    return tuple(packed[order.index(d)] for d in range(len(shape)))


def as_integer(value: Any) -> int | None:
    """The integer that a value stands for; None for a bool, and for what is none."""
    if isinstance(value, bool):
        return None
    try:
        return index(value)
    except TypeError:
        return None


def normalize_axes(axis: object, ndim: int) -> Ints:
    """The axes that `axis` names, sorted; None names all.

    A 0-d array has the axes 0 and -1, as in NumPy; they reduce nothing.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    found = []
    for a in axes:
        number = as_integer(a)
        if number is None:
            raise TypeError(f"axis must be an integer, a tuple of integers or None, not {a!r}")
        limit = max(ndim, 1) if not isinstance(axis, tuple) else ndim
        if not -limit <= number < limit:
            raise ValueError(f"axis {number} is out of bounds for an array of {ndim} dimensions")
        found.append(number % limit)
    if len(set(found)) != len(found):
        raise ValueError(f"axis {axis} names an axis twice")
    return tuple(sorted(a for a in found if a < ndim))


def coalesce(shape: Sequence[int], operands: Sequence[Ints], axes: Iterable[int]) -> list[Group]:
    """Merge the named axes, in the order given, where they fit together in every operand."""
    groups: list[Group] = []
    for d in axes:
        size, strides = shape[d], tuple(operand[d] for operand in operands)
        if size == 1:
            continue
        if groups and groups[-1].strides == tuple(size * s for s in strides):
            groups[-1] = Group(groups[-1].size * size, strides)
        else:
            groups.append(Group(size, strides))
    return groups


def merge_axes(shape: Ints, operands: Sequence[Ints]) -> tuple[Ints, list[Ints]]:
    """The same elements in the same order with as few axes as there can be."""
    groups = coalesce(shape, operands, range(len(shape)))
    strides = [tuple(group.strides[k] for group in groups) for k in range(len(operands))]
    return tuple(group.size for group in groups), strides


def plan(
    shape: Sequence[int],
    axes: Ints,
    operands: Sequence[Ints],
    *,
    any_order: bool = False,
    limit: int = MAX_LAUNCHES,
) -> list[Launch] | None:
    """The launches that cover all operands, or None where one of them has to be packed first.

    `axes` run along a row of the matrix, in C order unless the operation does not depend on the
    order (`any_order`); the other axes number the rows.
    """
    zeros = (0,) * len(operands)
    inner = list(axes)
    if any_order:
        inner.sort(key=lambda d: -abs(operands[0][d]))
    along = coalesce(shape, operands, inner)
    across = coalesce(shape, operands, [d for d in range(len(shape)) if d not in axes])
    if len(along) > 1:
        return None
    cols = along[0] if along else Group(1, zeros)
    rows = max(across, key=lambda group: group.size, default=Group(1, zeros))
    outer = [group for group in across if group is not rows]
    if math.prod(group.size for group in outer) > limit:
        return None
    return [
        Launch(
            rows.size,
            cols.size,
            tuple(
                sum(i * group.strides[k] for i, group in zip(index, outer, strict=True))
                for k in range(len(operands))
            ),
            rows.strides,
            cols.strides,
        )
        for index in product(*(range(group.size) for group in outer))
    ]


class Arrangement(NamedTuple):
    """How one call is carried out; the operands of the launches are x, the results, the mask."""

    launches: tuple[Launch, ...]
    packs: tuple[bool, ...]  # of the inputs: whether it is packed by `matrix_strides` first
    scratch: Ints | None  # strides of memory from which the results are copied to the target


# Programs call with the same layouts again and again, and this is most of what a call costs.
@lru_cache(maxsize=4096)
def arrange(
    shape: Ints, axes: Ints, inputs: tuple[Ints, ...], target: Ints, any_order: bool
) -> Arrangement:
    """From layouts to launches. The target has x's axes, or lacks those that are reduced.

    How the work is cut into launches depends on the inputs alone, never on the target, so that the
    results do not depend on where they are put.
    """
    ndim = len(shape)
    kept = [d for d in range(ndim) if len(target) == ndim or d not in axes]

    def spread(strides: Ints) -> Ints:
        return tuple(strides[kept.index(d)] if d in kept else 0 for d in range(ndim))

    def cut(strides: Ints) -> list[Launch] | None:
        return plan(shape, axes, [inputs[0], strides, *inputs[1:]], any_order=any_order)

    if any(shape[d] == 0 for d in axes):  # nothing is read, so no layout is too odd
        inputs = ((0,) * ndim,) * len(inputs)
    packs = (False,) * len(inputs)
    ideal = contiguous_strides([shape[d] for d in kept])
    launches = cut(spread(ideal))
    if launches is None:
        packs = tuple(
            plan(shape, axes, [view], any_order=any_order, limit=1) is None for view in inputs
        )
        packed = matrix_strides(shape, axes)
        inputs = tuple(packed if p else view for p, view in zip(packs, inputs, strict=True))
        if len(kept) == ndim:
            ideal = packed
        launches = cut(spread(ideal))
        assert launches is not None, "packed operands always form a matrix"

    direct = cut(spread(target))
    if direct is not None and _walk(direct) == _walk(launches):
        return Arrangement(tuple(direct), packs, None)
    return Arrangement(tuple(launches), packs, ideal)


def _walk(launches: list[Launch]) -> list[tuple[int, int, int]]:
    """What the kernels read, and in which order."""
    return [(launch.rows, launch.cols, launch.offsets[0]) for launch in launches]


def repeats_elements(shape: Sequence[int], strides: Ints, itemsize: int = 1) -> bool:
    """Whether two indices name the same element, or elements that share a part.

    An element is as long as `itemsize` of what the strides count. Never a wrong no; a wrong yes
    only for interleaved strides that slicing cannot give.
    """
    if 0 in shape:
        return False
    reach = 0
    for size, stride in sorted(
        ((n, abs(s)) for n, s in zip(shape, strides, strict=True) if n > 1), key=lambda d: d[1]
    ):
        if stride < reach + itemsize:
            return True
        reach += (size - 1) * stride
    return False
