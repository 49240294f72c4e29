"""Scans and folds keep the order of an operator that does not commute: 2x2 matrices modulo 251.

``order.cu`` puts it in the place of the sums and includes the kernels' own sources; see
conftest.py.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Layer = Any  # a device of one backend; see conftest.py
Words = NDArray[Any]
IDENTITY = 0x01000001


def product(x: int, y: int) -> int:
    a, b, c, d = x.to_bytes(4, "little")
    e, f, g, h = y.to_bytes(4, "little")
    entries = (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
    return int.from_bytes(bytes(entry % 251 for entry in entries), "little")


@cache
def matrices(rows: int, cols: int) -> tuple[Words, Words]:
    """Matrices that are far from commuting, and the products of each row up to each of them."""
    rng = np.random.default_rng(rows * 7 + cols)
    entries = rng.integers(0, 251, (rows, cols, 4)).astype(np.uint8)
    # Invertible, so that a product still tells of every factor: the lower triangle times the upper.
    entries[..., 0], entries[..., 2] = 1, rng.integers(0, 251, (rows, cols))
    entries[..., 3] = (entries[..., 2].astype(int) * entries[..., 1] + 1) % 251
    x = entries.view("<u4")[..., 0].astype(np.int64)
    through = np.empty_like(x)
    for row in range(rows):
        state = IDENTITY
        for col, matrix in enumerate(x[row].tolist()):
            state = product(state, matrix)
            through[row, col] = state
    return x, through


def test_the_operator_does_not_commute() -> None:
    x, y, z = matrices(1, 3)[0][0].tolist()
    assert product(x, y) != product(y, x)
    assert product(product(x, y), z) == product(x, product(y, z))
    assert product(IDENTITY, x) == x == product(x, IDENTITY)


@pytest.mark.parametrize("group", [2, 8, 32, 64])
def test_warps(order: Layer, group: int) -> None:
    if group > order.width:
        pytest.skip(f"a warp of {order.width} lanes has no group of {group}")
    x, through = matrices(256 // group, group)
    out = np.zeros((256 // group, group, 3), np.int64)
    order.call("layer_warp_order", group, x, out)
    before = np.insert(through, 0, IDENTITY, axis=1)[:, :-1]
    np.testing.assert_array_equal(out[..., 0], np.repeat(through[:, -1:], group, axis=1))
    np.testing.assert_array_equal(out[..., 1], through)
    np.testing.assert_array_equal(out[..., 2], before)


SHAPES = [(1, 1), (1, 33), (1, 513), (1, 4099), (1, 70001), (5, 65), (3, 2049), (2, 9001), (97, 16)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("words", [np.int32, np.int64])
@pytest.mark.parametrize("transposed", [0, 1])
def test_scans(order: Layer, shape: tuple[int, int], words: Any, transposed: int) -> None:
    rows, cols = shape
    x, through = matrices(rows, cols)
    before = np.insert(through, 0, IDENTITY, axis=1)[:, :-1]
    elements = np.ascontiguousarray(x.T if transposed else x).astype(np.uint32).astype(words)
    names = [order.library.layer_scan(i).decode() for i in range(order.library.layer_scans())]
    assert {"lookback", "pipelined", "reduce_scan", "short_rows"} < set(names)
    for index, name in enumerate(names):
        if words is np.int64 and name in ("serial", "hillis_steele", "blelloch", "hierarchical"):
            continue  # teaching variants take int32 only
        for inclusive, expected in ((1, through), (0, before)):
            out = np.full(elements.shape, -1, np.int64)
            size = elements.itemsize
            order.call(
                *("layer_scan_matrices", index, size, inclusive, rows, cols, transposed),
                *(elements, out),
            )
            got = out.T if transposed else out
            np.testing.assert_array_equal(got, expected, f"{name}, inclusive={inclusive}")


@pytest.mark.parametrize("name", ["lookback", "pipelined", "reduce_scan"])
def test_a_scan_of_more_tiles_than_stretches(order: Layer, name: str) -> None:
    """More than 1,024 tiles of 2,048: a stretch has several, and more than a window lie before."""
    count = 2_100_001
    x, through = matrices(1, count)
    names = [order.library.layer_scan(i).decode() for i in range(order.library.layer_scans())]
    out = np.full(x.shape, -1, np.int64)
    order.call("layer_scan_matrices", names.index(name), 8, 1, 1, count, 0, x, out)
    np.testing.assert_array_equal(out, through)


@pytest.mark.parametrize(
    "shape",
    # The last: with so many rows a block goes through several tiles of a row.
    [(1, 1), (1, 33), (3, 513), (1, 1025), (1, 4099), (1, 70001), (5, 9001), (2049, 4099)],
    ids=str,
)
def test_folds(order: Layer, shape: tuple[int, int]) -> None:
    rows, cols = shape
    x, through = matrices(1, cols)
    out = np.full(rows, -1, np.int64)
    order.call("layer_fold_matrices", rows, cols, x, out)
    assert set(out.tolist()) == {int(through[0, -1])}
