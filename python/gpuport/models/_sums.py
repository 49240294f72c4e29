"""Sums of a warp, scans of a block, scans of any length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuport.models._values import (
    Number,
    Trace,
    add,
    note,
    numbers,
    require_power_of_two,
    require_sequence,
)


def warp_sum(
    lanes: Sequence[Number],
    active: Sequence[bool] | int | None = None,
    trace: Trace | None = None,
) -> Number:
    """The sum that lane 0 of a warp holds after a tree of shuffles.

    With offsets of half the warp down to 1, each lane adds what the lane so far above it holds. On
    a GPU a value from a lane that takes no part is undefined; here it is refused.

    Args:
        lanes: a value for each lane; their number is the width of the warp.
        active: which lanes take part: a flag for each, or a mask with a bit for each; all if None.
        trace: gets the lanes that still count after each offset.

    Raises:
        ValueError: the width is no power of two, lane 0 is not active, or an active lane reads one
            that is not.
        OverflowError: an integer sum leaves int64.
    """
    held = numbers(lanes, "lanes")
    width = require_power_of_two(len(held), "the number of lanes")
    takes_part = _flags(active, width)
    if not takes_part[0]:
        raise ValueError("lane 0 is not active, and it would hold the sum")
    offset = width // 2
    while offset:
        for lane in range(offset):  # what the lanes above hold from here on never reaches lane 0
            if takes_part[lane] and not takes_part[lane + offset]:
                raise ValueError(f"lane {lane} reads lane {lane + offset}, which is not active")
            held[lane] = add(held[lane], held[lane + offset])
        note(trace, f"offset {offset}", held[:offset])
        offset //= 2
    return held[0]


def block_scan(values: Sequence[Number], width: int, trace: Trace | None = None) -> list[Number]:
    """The exclusive scan of up to `width` values by an up-sweep and a down-sweep.

    2 width - 2 additions (Blelloch). Missing values count as 0.

    Args:
        values: of one block.
        width: of the block, a power of two.
        trace: gets the tree after each level, padded to the width: "up 1", "up 2", ..., "root",
            ..., "down 2", "down 1". On [3, -1, 4, 1]: up 1 [3, 2, 4, 5], up 2 [3, 2, 4, 7], root
            [3, 2, 4, 0], down 2 [3, 0, 4, 2], down 1 [0, 3, 2, 6].

    Raises:
        ValueError: the width is no power of two, or there are more values.
        OverflowError: an integer sum leaves int64.
    """
    return _block_scan(numbers(values, "values"), require_power_of_two(width, "width"), trace)[0]


def _block_scan(
    values: list[Number], width: int, trace: Trace | None
) -> tuple[list[Number], Number]:
    """The scan, and the total of the block."""
    if len(values) > width:
        raise ValueError(f"a block of {width} cannot hold {len(values)} values")
    tree = values + [0] * (width - len(values))
    distance = 1
    while distance < width:
        for right in range(2 * distance - 1, width, 2 * distance):
            tree[right] = add(tree[right - distance], tree[right])
        note(trace, f"up {distance}", tree)
        distance *= 2
    total, tree[-1] = tree[-1], 0
    note(trace, "root", tree)
    distance = width // 2
    while distance:
        for right in range(2 * distance - 1, width, 2 * distance):
            left = tree[right - distance]
            tree[right - distance] = tree[right]
            tree[right] = add(tree[right], left)
        note(trace, f"down {distance}", tree)
        distance //= 2
    return tree[: len(values)], total


def device_scan(values: Sequence[Number], width: int, trace: Trace | None = None) -> list[Number]:
    """The exclusive scan of any number of values, from scans of blocks.

    Every block is scanned, the blocks' totals are scanned in the same way, and each block adds its
    offset. 262,145 values in blocks of 512 have 513 totals, so those need two blocks themselves.

    Args:
        values: any number of them.
        width: of a block, a power of two from 2 on.
        trace: gets each level's "totals" on the way up and its "offsets" on the way down.

    Raises:
        ValueError: the width is no power of two from 2 on.
        OverflowError: an integer sum leaves int64.
    """
    size = require_power_of_two(width, "width", least=2)
    return _device_scan(numbers(values, "values"), size, trace)


def _device_scan(values: list[Number], width: int, trace: Trace | None) -> list[Number]:
    blocks = [
        _block_scan(values[start : start + width], width, None)
        for start in range(0, len(values), width)
    ]
    if len(blocks) <= 1:
        return blocks[0][0] if blocks else []
    totals = [total for _, total in blocks]
    note(trace, "totals", totals)
    offsets = _device_scan(totals, width, trace)
    note(trace, "offsets", offsets)
    return [
        add(offset, value)
        for offset, (scanned, _) in zip(offsets, blocks, strict=True)
        for value in scanned
    ]


def _flags(active: Any, width: int) -> list[bool]:
    if active is None:
        return [True] * width
    if isinstance(active, int) and not isinstance(active, bool):
        if not 0 <= active < 1 << width:
            raise ValueError(f"the mask {active:#x} does not fit a warp of {width} lanes")
        return [bool(active >> lane & 1) for lane in range(width)]
    require_sequence(active, "active")
    flags = [bool(flag) for flag in active]
    if len(flags) != width:
        raise ValueError(f"active has {len(flags)} flags for {width} lanes")
    return flags
