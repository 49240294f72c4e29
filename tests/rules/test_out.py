"""`out=` of every function that takes it, on every backend: in place, beside x, over part of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from functions import FUNCTIONS, Function, check, float_dtype, operand_beside, sum_dtype
from functions import whole_numbers as numbers
from gpuport.testing import Target
from places import Array, Block, place, read, where

writing = [function for function in FUNCTIONS if function.takes_out]
every_function = pytest.mark.parametrize("function", writing, ids=lambda f: f.name)
in_place = pytest.mark.parametrize(
    "function", [f for f in writing if f.in_place], ids=lambda f: f.name
)


def result_dtype(function: Function, x: Array) -> str:
    if function.name in ("max", "min"):
        return str(x.dtype.name)
    whole = function.name in ("sum", "inclusive_scan", "exclusive_scan")
    return str((sum_dtype(x) if whole else float_dtype(x)).name)


def mask_of(function: Function, shape: tuple[int, ...], target: Target) -> Any:
    beside = operand_beside(function, shape, seed=4)
    return beside, None if beside is None else place(target, beside)


@in_place
@pytest.mark.parametrize("dtype", ["int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_in_place(function: Function, dtype: str, axis: Any, target: Target) -> None:
    """x itself, whatever its layout: contiguous, padded, transposed, reversed."""
    if dtype == "int64" and function.beside == "mask":
        pytest.skip(f"{function.name} of integers is float64, so x cannot hold it")
    shape, size = (6, 700), 6 * 1403 + 9
    for strides, at in (((700, 1), 3), ((1403, 2), 1), ((1, 6), 5), ((-700, -1), 6 * 700)):
        memory = numbers((size,), dtype, seed=5)
        block = Block(target, memory)
        x = block.array(shape, dtype, strides, at)
        values = read(x).copy()
        beside, mask = mask_of(function, shape, target)
        assert function.call(x, mask, axis, out=x, **where(target)) is x
        check(function, x, function.expected(values, beside, axis))
        # What lies between the elements is as it was.
        after = block.fetch().view(memory.dtype)
        own = np.zeros(size, bool)
        own[at + strides[0] * np.arange(6)[:, None] + strides[1] * np.arange(700)] = True
        assert after[~own].tobytes() == memory[~own].tobytes()


@every_function
def test_a_part_of_x_is_refused_untouched(function: Function, target: Target) -> None:
    """Shifted, reversed, transposed, or a part: x would be written before it is read."""
    memory = numbers((2000,), "float64", seed=6)
    block = Block(target, memory)
    x = block.array((30, 30), "float64", (30, 1), 100)
    shape = (30,) if function.several_axes else (30, 30)
    overlapping = (
        [((1,), 100), ((1,), 999), ((31,), 100), ((-1,), 130)]
        if shape == (30,)
        else [((30, 1), 101), ((30, 1), 130), ((1, 30), 100), ((-30, -1), 999), ((60, 1), 90)]
    )
    for strides, at in overlapping:
        out = block.array(shape, "float64", strides, at)
        with pytest.raises(ValueError, match=r"^out overlaps x without being x itself$"):
            function.call(x, None, 1, out=out, **where(target))
    assert block.fetch().tobytes() == memory.tobytes()


@every_function
def test_neighbours_and_layouts_of_out(function: Function, target: Target) -> None:
    """In the same memory as x, and of any layout: the values and all else stay the same."""
    memory = numbers((8000,), "float32", seed=7)
    block = Block(target, memory)
    x = block.array((20, 33), "float32", (66, 2), 1)
    values = read(x).copy()
    beside, mask = mask_of(function, (20, 33), target)
    expected = function.expected(values, beside, 1)
    plain = read(function.call(x, mask, 1, **where(target)))
    check(function, plain, expected)
    shape = plain.shape
    places = (
        [((1,), 2000), ((66,), 2), ((-7,), 4001)]
        if len(shape) == 1
        else [((33, 1), 2001), ((66, 2), 2), ((1, 20), 3000), ((-40, -1), 5000)]
    )
    for strides, at in places:
        block.fill(memory)
        out = block.array(shape, result_dtype(function, values), strides, at)
        assert function.call(x, mask, 1, out=out, **where(target)) is out
        assert read(out).tobytes() == plain.tobytes()
        assert read(x).tobytes() == values.tobytes()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_more_rows_and_segments_than_a_grid_dimension(function: Function, target: Target) -> None:
    """65,535 is the end of a grid's second and third dimension."""
    if not target.is_gpu and target.warp_size == 64:
        pytest.skip("the CPU is asked once: a grid does not know of its warps")
    dtype = "int32" if function.name == "nonzero" else "float32"
    if function.kind == "segments":
        x = numbers((70_001,), dtype)
        beside: Array | None = np.arange(70_002)
    else:
        x = numbers((65_537, 2), dtype)
        beside = operand_beside(function, x.shape)
    next_to = None if beside is None else place(target, beside)
    axis = 1 if function.kind == "axis" else None
    got = function.call(place(target, x), next_to, axis, **where(target))
    if function.kind != "segments":
        check(function, got, function.expected(x, beside, axis))
    else:
        np.testing.assert_array_equal(read(got), x)
