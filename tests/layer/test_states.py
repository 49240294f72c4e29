"""What the device kernels hold between their steps, against the traces of the plain-Python models.

``states.cu`` includes the kernels' own sources and copies their states out; see conftest.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpuport import models
from gpuport.models import Step

Layer = Any  # a device of one backend; see conftest.py
BLOCK = 512  # elements of a block of scan.blelloch, scan.hierarchical and reduce.hierarchical
SWEEPS = {0: "up", 1: "root", 2: "down"}
EXAMPLE = [3, -1, 4, 1, 5, -9, 2, 6]


def whole_numbers(count: int, seed: int = 0) -> NDArray[np.int32]:
    return np.random.default_rng(seed).integers(-9, 10, count).astype(np.int32)


@pytest.mark.parametrize("count", [1, 2, 4, 8, 511, 512])
def test_the_phases_of_blelloch(layer: Layer, count: int) -> None:
    """Every level of both sweeps is the model's, in the model's order."""
    x = whole_numbers(count, seed=count)
    if count <= len(EXAMPLE):
        x = np.array(EXAMPLE[:count], np.int32)
    most = 40
    steps = np.full((most, 2), -1, np.int64)
    trees = np.zeros((most, BLOCK), np.int64)
    exclusive = np.full(count, -77, np.int64)
    layer.call("layer_blelloch", x, count, steps, most, trees, exclusive)

    trace: list[Step] = []
    assert exclusive.tolist() == models.block_scan(x.tolist(), BLOCK, trace)
    taken = int((steps[:, 0] >= 0).sum())
    names = [SWEEPS[int(s)] + ("" if s == 1 else f" {int(w)}") for s, w in steps[:taken]]
    assert names == [step.name for step in trace]
    for name, tree, step in zip(names, trees.tolist(), trace, strict=False):
        assert tree == list(step.values), name


@pytest.mark.parametrize("blelloch", [0, 1], ids=["scan.hierarchical", "scan.blelloch"])
@pytest.mark.parametrize("count", [513, 1024, 4099, 262144, 262145])
def test_block_totals_of_a_scan(layer: Layer, blelloch: int, count: int) -> None:
    """Totals of the first level, and the offsets that the levels above make of them."""
    x = whole_numbers(count, seed=count)
    blocks = -(-count // BLOCK)
    room = 2 * blocks + 8
    totals, offsets = np.zeros(room, np.int64), np.zeros(room, np.int64)
    exclusive = np.zeros(count, np.int64)
    layer.call("layer_block_totals", x, count, blelloch, totals, offsets, exclusive)

    trace: list[Step] = []
    expected = models.device_scan(x.tolist(), BLOCK, trace)
    steps = {name: [s.values for s in trace if s.name == name] for name in ("totals", "offsets")}
    assert totals[:blocks].tolist() == list(steps["totals"][0])
    assert offsets[:blocks].tolist() == list(steps["offsets"][-1])
    if blocks > BLOCK:  # one level more: its totals have become offsets in turn
        upper = -(-blocks // BLOCK)
        assert offsets[blocks : blocks + upper].tolist() == list(steps["offsets"][0])
    assert exclusive.tolist() == expected


@pytest.mark.parametrize("count", [1, 512, 513, 4099, 262145])
def test_partials_of_a_hierarchical_sum(layer: Layer, count: int) -> None:
    x = whole_numbers(count, seed=count)
    partials = np.zeros(-(-count // BLOCK), np.int64)
    layer.call("layer_partials", x, count, partials)
    if count <= BLOCK:
        assert partials.tolist() == [int(x.sum())]
        return
    trace: list[Step] = []
    models.device_scan(x.tolist(), BLOCK, trace)
    assert partials.tolist() == list(trace[0].values)


@pytest.mark.parametrize("count", [1, 8, 255, 256, 1000])
def test_softmax_in_three_passes(layer: Layer, count: int) -> None:
    """The maximum, then the shifted sum, then the output, as the model has them."""
    x = np.random.default_rng(count).normal(scale=20, size=count)
    if count == len(EXAMPLE):
        x = np.array(EXAMPLE, np.float64)
    log = np.full((count + 2, 2), np.nan)
    entries = np.zeros(1, np.int32)
    layer.call("layer_three_pass", x, count, log, entries)

    trace: list[Step] = []
    models.softmax(x.tolist(), trace)
    assert [step.name for step in trace] == ["maximum", "shifted sum", "output"]
    assert int(entries[0]) == count + 2
    assert log[:, 0].tolist() == [0, 1] + [2] * count
    maximum, shifted_sum, output = (step.values for step in trace)
    assert log[0, 1] == maximum[0]
    # Added in another order than the model's: within the bound of either.
    np.testing.assert_allclose(log[1, 1], shifted_sum[0], rtol=2 * count * 2**-53 + 1e-15)
    np.testing.assert_allclose(log[2:, 1], list(output), rtol=2 * count * 2**-53 + 1e-15)


@pytest.mark.parametrize(("count", "stretch"), [(8, 4), (1000, 300), (5000, 257)])
def test_states_of_the_stretches_of_a_row(layer: Layer, count: int, stretch: int) -> None:
    x = np.random.default_rng(count).normal(scale=2, size=count)
    if count == len(EXAMPLE):
        x = np.array(EXAMPLE, np.float64)
    states = np.zeros((-(-count // stretch), 2))
    layer.call("layer_split_states", x, count, stretch, states)

    merged = models.EMPTY
    for found, begin in zip(states, range(0, count, stretch), strict=True):
        expected = models.softmax_state(x[begin : begin + stretch].tolist())
        assert found[0] == expected.m
        np.testing.assert_allclose(found[1], expected.d, rtol=1e-13)
        merged = models.merge_states(merged, tuple(found))
    whole = models.softmax_state(x.tolist())
    assert merged.m == whole.m
    assert math.isclose(merged.d, whole.d, rel_tol=1e-12)
    if count == len(EXAMPLE):
        assert states[:, 0].tolist() == [4, 6]
        np.testing.assert_allclose(states[:, 1], [1.424404, 1.386195], atol=5e-7)
