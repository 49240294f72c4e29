"""The portable layer, operation by operation, against plain Python and NumPy.

``layer.cu`` is compiled by conftest.py.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

THREADS = 256
GROUP_RESULTS = 9

Layer = Any  # a device of one backend; see conftest.py


@pytest.mark.parametrize("group", [1, 2, 4, 8, 16, 32, 64])
def test_groups_of_lanes(layer: Layer, group: int) -> None:
    if group > layer.width:
        pytest.skip(f"a warp of {layer.width} lanes has no group of {group}")
    blocks = 3
    count = blocks * THREADS
    rng = np.random.default_rng(group)
    x = rng.integers(-9, 10, count, dtype=np.int32)
    out = np.full((count, GROUP_RESULTS), -(2**60), dtype=np.int64)
    layer.call("layer_group", group, blocks, x, out)

    groups = x.reshape(-1, group).astype(np.int64)
    lanes = np.tile(np.arange(group), count // group)
    sums = groups.sum(axis=1, keepdims=True)
    inclusive = groups.cumsum(axis=1)
    expected = np.stack(
        [
            lanes,
            np.broadcast_to(sums, groups.shape).ravel(),
            np.where(lanes == 0, np.broadcast_to(sums, groups.shape).ravel(), 0),
            inclusive.ravel(),
            (inclusive - groups).ravel(),
            groups[:, (np.arange(group) * 7 + 3) % group].ravel(),
            np.broadcast_to((groups > 0).sum(axis=1, keepdims=True), groups.shape).ravel(),
            np.broadcast_to(
                (groups == 9).any(axis=1, keepdims=True)
                + 2 * (groups > -9).all(axis=1, keepdims=True),
                groups.shape,
            ).ravel(),
            lanes,
        ],
        axis=1,
    )
    np.testing.assert_array_equal(out, expected)


def warp_by_words(width: int, x: NDArray[np.uint64], places: NDArray[np.uint64]) -> list[list[int]]:
    """What layer_words must say of a warp: sums wrap, a NaN is the greatest, zeros are equal."""
    expected = []
    for first in range(0, x.size, width):
        values, spots = x[first : first + width], [int(p) for p in places[first : first + width]]
        words = values.astype(np.uint32)
        floats = words.view(np.float32)
        best = floats[np.argmax(floats)]  # the first NaN, where there is one
        is_best = np.isnan(floats) if math.isnan(best) else floats == best
        least = words.view(np.int32).astype(np.int8)
        row = [int(words.max()), int(words.min()), int(words.sum(dtype=np.uint32))]
        row.append(int(values.sum(dtype=np.uint64).view(np.int64)))
        row.append(min(p % 2**32 for p, own in zip(spots, is_best, strict=True) if own))
        row.append(min(p for p, own in zip(spots, is_best, strict=True) if own))
        row.append(min(p for p, own in zip(spots, least == least.max(), strict=True) if own))
        row.append(int((best + np.float32(0)).view(np.uint32)))
        expected.append(row)
    return expected


def test_what_a_warp_makes_of_words(layer: Layer) -> None:
    """Across lanes in one step where the hardware has it, by shuffles elsewhere."""
    blocks, rng = 8, np.random.default_rng(11)
    count = blocks * THREADS
    kinds = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 1e-45, -1e-45, 3e38, -3e38]
    few = np.array(kinds, np.float32)
    x = rng.integers(0, 2**64, count, dtype=np.uint64)
    x &= np.where(rng.random(count) < 0.5, np.uint64(2**64 - 1), np.uint64(2**32 - 1))
    chosen = few[rng.integers(0, few.size, count)].view(np.uint32)
    for warp in range(
        count // layer.width
    ):  # some of all kinds, some without NaN, some of few kinds
        lanes = slice(warp * layer.width, (warp + 1) * layer.width)
        least = warp % few.size
        pick = few[least : least + 1 + warp % 3].view(np.uint32)
        own = chosen[lanes] if warp % 2 else pick[rng.integers(0, pick.size, layer.width)]
        x[lanes] = (x[lanes] & ~np.uint64(2**32 - 1)) | own.astype(np.uint64)
    x[: layer.width] = 2**64 - 1  # the largest sums of all pieces
    # Places that agree in either half, so that each half decides somewhere.
    places = rng.integers(0, 3, count, dtype=np.uint64) << np.uint64(32)
    places |= rng.integers(0, 2**32, count, dtype=np.uint64)
    out = np.full((count, 8), -(2**60), dtype=np.int64)
    layer.call("layer_words", blocks, x, places, out)
    expected = warp_by_words(layer.width, x, places)
    for warp, row in enumerate(expected):
        lanes = out[warp * layer.width : (warp + 1) * layer.width]
        if math.isnan(np.uint32(row[-1]).view(np.float32)):
            assert np.isnan(lanes[:, -1].astype(np.uint32).view(np.float32)).all(), warp
            lanes, row = lanes[:, :-1], row[:-1]
        np.testing.assert_array_equal(lanes, np.broadcast_to(row, lanes.shape), str(warp))


def test_a_group_that_no_shuffle_can_serve_does_not_compile(
    compile_text: Callable[[str], str],
) -> None:
    use = "__global__ void k(int* out) { out[0] = gp::Warp<%s>::lane(); }"
    assert compile_text(use % "32, 8") == ""
    for arguments in ("32, 7", "64, 48", "32, 64"):
        assert "a group is a power of two of lanes" in compile_text(use % arguments), arguments
    assert "a warp has 32 or 64 lanes" in compile_text(use % "16")


def product(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    (a, b, c, d), (e, f, g, h) = x, y
    full = (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
    return tuple(v % 2**32 for v in full)


def test_block_scans_keep_the_order_of_an_operator_that_does_not_commute(layer: Layer) -> None:
    blocks = 2
    count = blocks * THREADS
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2**32, (count, 4), dtype=np.uint32)
    inclusive, exclusive = np.zeros_like(x), np.zeros_like(x)
    reduced = np.zeros((blocks, 4), dtype=np.uint32)
    layer.call("layer_block", blocks, x, inclusive, exclusive, reduced)
    for block in range(blocks):
        running: tuple[int, ...] = (1, 0, 0, 1)
        for i in range(block * THREADS, (block + 1) * THREADS):
            assert tuple(exclusive[i].tolist()) == running
            running = product(running, tuple(x[i].tolist()))
            assert tuple(inclusive[i].tolist()) == running
        assert tuple(reduced[block].tolist()) == running


def test_blocks_of_a_resident_launch_wait_for_each_other(layer: Layer) -> None:
    # Many launches in one process: what one leaves behind is no deadlock of the next.
    for launch in range(30):
        blocks = ctypes.c_int(0 if launch % 2 == 0 else 100)
        chain = np.zeros(1 << 16, dtype=np.uint32)
        wrong = np.full(1, 7, dtype=np.uint32)
        layer.call("layer_waiting", ctypes.byref(blocks), 128, 5, chain, wrong)
        assert wrong[0] == 0
        np.testing.assert_array_equal(chain[: blocks.value], np.arange(2, blocks.value + 2))
        assert not chain[blocks.value :].any()


def test_a_launch_that_is_rejected_names_the_kernel_and_the_next_one_works(layer: Layer) -> None:
    x, out = np.arange(256, dtype=np.int32), np.full(256, -7, np.int32)
    for blocks, threads, dynamic in ((1, 1056, 0), (1, 0, 0), (1, 32, 1 << 30)):
        expected = f"^layer: launch of {blocks} blocks of {threads} threads .* failed: .*invalid"
        with pytest.raises(AssertionError, match=expected):
            layer.call("layer_launch", blocks, threads, dynamic, x, out)
        assert (out == -7).all()
        layer.call("layer_launch", 1, 256, 0, x, out)
        np.testing.assert_array_equal(out, x + 1)
        out[...] = -7


@pytest.mark.parametrize("is_bf16", [0, 1])
def test_narrow_floats_round_to_nearest_even(layer: Layer, is_bf16: int) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if is_bf16 else np.float16)
    every = np.arange(2**16, dtype=np.uint16).view(dtype).astype(np.float32)
    finite = every[np.isfinite(every)]
    # Every value, both neighbours in f32, and the midpoints: where rounding goes wrong.
    ordered = np.unique(finite)
    middles = (ordered[1:] / 2 + ordered[:-1] / 2).astype(np.float32)
    rng = np.random.default_rng(3)
    anything = rng.integers(0, 2**32, 1 << 16, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        around = [
            np.nextafter(v, np.float32(s)) for v in (finite, middles) for s in (-math.inf, math.inf)
        ]
        values = np.concatenate([every, middles, *around, anything]).astype(np.float32)
        expected = values.astype(dtype)
    bits = np.full(values.size, 0x1234, dtype=np.uint16)
    wide = np.zeros(values.size, dtype=np.float32)
    layer.call("layer_narrow", is_bf16, values, bits, wide, values.size)
    nan = np.isnan(values)
    np.testing.assert_array_equal(bits[~nan], expected.view(np.uint16)[~nan])
    np.testing.assert_array_equal(wide[~nan], expected.astype(np.float32)[~nan])
    assert np.isnan(bits.view(dtype)[nan].astype(np.float32)).all()
    assert np.isnan(wide[nan]).all()


@pytest.mark.parametrize("is_bf16", [0, 1])
def test_a_pair_of_narrow_floats_is_both_of_them(layer: Layer, is_bf16: int) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if is_bf16 else np.float16)
    rng = np.random.default_rng(4)
    every = np.arange(2**16, dtype=np.uint16).view(dtype).astype(np.float32)
    anything = rng.integers(0, 2**32, 1 << 16, dtype=np.uint32).view(np.float32)
    values = rng.permutation(np.concatenate([every, anything]))
    values[np.isnan(values)] = math.nan  # quiet ones: of a signalling one the C library makes a NaN
    with np.errstate(all="ignore"):
        first = values.astype(dtype).astype(np.float32)
        second = first[::-1]
        greatest = np.fmax(first, second)
    out = np.full((values.size, 5), -7, dtype=np.float32)
    layer.call("layer_pairs", is_bf16, values, out, values.size)
    np.testing.assert_array_equal(out[:, 0], first)
    np.testing.assert_array_equal(out[:, 1], second)
    (takes_greatest,) = set(out[:, 2])
    for found in out[:, 3:].T:  # where the target has no instruction for it, there is no function
        np.testing.assert_array_equal(found, greatest if takes_greatest else -7)


def states(layer: Layer, values: list[float], split: int) -> NDArray[np.float64]:
    x = np.array([*values, 0.0])  # never an empty pointer
    out = np.full((4, 2), 77.0)
    layer.call("layer_max_sum", x, out, len(values), split)
    return out


def test_running_maximum_and_sum(layer: Layer) -> None:
    left, right, merged, whole = states(layer, [3, -1, 4, 1, 5, -9, 2, 6], 4)
    assert left.tolist() == [4, pytest.approx(1.424404, abs=5e-7)]
    assert right.tolist() == [6, pytest.approx(1.386195, abs=5e-7)]
    assert merged.tolist() == [6, pytest.approx(1.578968, abs=5e-7)]
    np.testing.assert_allclose(merged, whole, rtol=1e-15)


@pytest.mark.parametrize("split", [0, 8])
def test_merging_with_the_empty_state_changes_no_bit(layer: Layer, split: int) -> None:
    left, right, merged, whole = states(layer, [3, -1, 4, 1, 5, -9, 2, 6], split)
    assert (left if split == 0 else right).tolist() == [-math.inf, 0]
    assert merged.tobytes() == whole.tobytes()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (-math.inf, 0)),
        ([-math.inf] * 3, (-math.inf, 0)),
        ([math.inf, math.inf, 1.0], (math.inf, 2)),
        ([-math.inf, 5.0], (5, 1)),
        ([1.0, math.nan, math.inf], (math.inf, math.nan)),
        ([math.nan, -math.inf], (-math.inf, math.nan)),
    ],
)
def test_states_of_infinities_and_nans(
    layer: Layer, values: list[float], expected: tuple[float, float]
) -> None:
    for split in range(len(values) + 1):
        *_, merged, whole = states(layer, values, split)
        np.testing.assert_array_equal(whole, expected)
        np.testing.assert_array_equal(merged, expected)


@pytest.mark.parametrize(
    ("values", "greatest", "least"),
    [
        ([6, -1, 6], 0, 1),
        ([-0.0, 0.0], 0, 0),
        ([1, math.nan, 5, math.nan], 1, 1),
        ([math.nan] * 3, 0, 0),
        ([-math.inf] * 4, 0, 0),
        ([math.inf] * 4, 0, 0),
        ([0] * 33 + [7] + [0] * 31 + [7, -7, -7], 33, 66),
    ],
)
def test_arg_extrema(layer: Layer, values: list[float], greatest: int, least: int) -> None:
    x = np.array(values, dtype=np.float32)
    out = np.full(2, -5, dtype=np.int64)
    layer.call("layer_arg", x, out, x.size)
    assert (np.argmax(x), np.argmin(x)) == (greatest, least)
    assert out.tolist() == [greatest, least]


@pytest.mark.parametrize("readers", [0, 1, 2, 3])
@pytest.mark.parametrize("blocks", [1, 2, 7, 300])
def test_tags_of_launches(layer: Layer, blocks: int, readers: int) -> None:
    """A replay counts itself, once, however many threads of how many blocks ask; 0 stands for all
    threads of a block, by one. The count may be past 2^31, and starts again after 2^32."""
    launches, unset = 3, 2**32 - 7
    asks = slice(None) if readers == 0 else slice(readers)
    for before in (None, 0, 5, 2**31, 2**32 - 2):
        word = None if before is None else np.array([before << 32], dtype=np.uint64)
        tags = np.full((launches, blocks, 64), unset, dtype=np.uint32)
        layer.call("layer_tags", blocks, launches, readers, word, tags)
        expected = [42] * 3 if before is None else [(before + 1 + n) % 2**32 for n in range(3)]
        np.testing.assert_array_equal(tags[:, :, asks].max(axis=(1, 2)), expected)
        np.testing.assert_array_equal(tags[:, :, asks].min(axis=(1, 2)), expected)
        if readers:
            assert (tags[:, :, readers:] == unset).all()
        if word is not None:
            assert int(word[0]) == ((before or 0) + launches) % 2**32 << 32


def test_the_reference_product_is_associative() -> None:
    x = [(2, 3, 5, 7), (1, 4, 9, 16), (8, 6, 7, 5)]
    assert product(product(x[0], x[1]), x[2]) == product(x[0], product(x[1], x[2]))
    assert product(x[0], x[1]) != product(x[1], x[0])
    assert reduce(product, x) == product(product(x[0], x[1]), x[2])
