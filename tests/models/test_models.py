"""The plain-Python models: exact values, traces, what they refuse, how often they read."""

from __future__ import annotations

import ast
import math
import random
import sys
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import models

X = [3, -1, 4, 1, 5, -9, 2, 6]
TOP = 2**63 - 1


def exclusive(values: list[int]) -> list[int]:
    return list(accumulate(values, initial=0))[:-1]


# Sums of a warp.


@pytest.mark.parametrize("width", [1, 2, 4, 8, 32, 64])
def test_warp_sum(width: int) -> None:
    lanes = [random.Random(width).randint(-9, 9) for _ in range(width)]
    every = [None, [True] * width, (1 << width) - 1, np.ones(width, bool)]
    assert [models.warp_sum(lanes, active) for active in every] == [sum(lanes)] * 4


def test_the_tree_of_a_warp() -> None:
    trace: models.Trace = []
    assert models.warp_sum(X, trace=trace) == 11
    assert trace == [("offset 4", [8, -10, 6, 7]), ("offset 2", [14, -3]), ("offset 1", [11])]


@pytest.mark.parametrize("width", [2, 8, 32])
def test_a_source_lane_that_is_not_active(width: int) -> None:
    for lane in range(1, width):
        active = [True] * width
        active[lane] = False
        source = f"reads lane {lane}, which is not active"
        with pytest.raises(ValueError, match=source):
            models.warp_sum([1] * width, active)
        with pytest.raises(ValueError, match=source):
            models.warp_sum([1] * width, (1 << width) - 1 - (1 << lane))
    with pytest.raises(ValueError, match="lane 0 is not active"):
        models.warp_sum([1] * width, [False] + [True] * (width - 1))


@pytest.mark.parametrize(
    ("lanes", "active", "error"),
    [
        ([TOP, 1], None, OverflowError),
        ([-(2**63), -1], None, OverflowError),
        ([TOP + 1, -1], None, OverflowError),
        ([], None, ValueError),
        ([1, 2, 3], None, ValueError),
        ([1, 2], [True], ValueError),
        ([1, 2], 4, ValueError),
        ([1, 2], -1, ValueError),
        ([1, "2"], None, TypeError),
        (iter([1, 2]), None, TypeError),
        ([1, 2], iter([True, True]), TypeError),
    ],
)
def test_warps_that_are_refused(lanes: Any, active: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        models.warp_sum(lanes, active)


def test_int64_ends_at_its_ends() -> None:
    assert models.warp_sum([TOP - 1, 1]) == TOP
    assert models.warp_sum([-TOP, -1]) == -(2**63)
    assert models.warp_sum([TOP, 0.5]) == 2.0**63


# Scans.


def test_the_phases_of_blelloch() -> None:
    trace: models.Trace = []
    assert models.block_scan([3, -1, 4, 1], 4, trace) == [0, 3, 2, 6]
    assert trace == [
        ("up 1", [3, 2, 4, 5]),
        ("up 2", [3, 2, 4, 7]),
        ("root", [3, 2, 4, 0]),
        ("down 2", [3, 0, 4, 2]),
        ("down 1", [0, 3, 2, 6]),
    ]
    assert trace[0].name == "up 1"
    assert trace[-1].values == [0, 3, 2, 6]


@pytest.mark.parametrize(("width", "additions"), [(32, 62), (512, 1022)])
def test_the_additions_of_blelloch(
    width: int, additions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuport.models import _sums

    counted = []
    add = _sums.add
    monkeypatch.setattr(_sums, "add", lambda a, b: counted.append(1) or add(a, b))
    models.block_scan([1] * width, width)
    assert len(counted) == additions


def test_block_scan_of_fewer_values_than_the_width() -> None:
    for size in range(17):
        values = [random.Random(size).randint(-9, 9) for _ in range(size)]
        assert models.block_scan(values, 16) == exclusive(values)
    assert models.block_scan(X, 8) == [0, 3, 2, 6, 7, 12, 3, 5]
    assert models.block_scan([5], 1) == [0]


def test_the_block_totals_of_the_running_example() -> None:
    trace: models.Trace = []
    assert models.device_scan(X, 4, trace) == [0, 3, 2, 6, 7, 12, 3, 5]
    assert trace == [("totals", [7, 4]), ("offsets", [0, 7])]


def test_a_level_more() -> None:
    """513 block totals need two blocks of their own."""
    trace: models.Trace = []
    got = models.device_scan([1] * 262145, 512, trace)
    assert got == list(range(262145))
    shape = [(step.name, len(step.values)) for step in trace]
    assert shape == [("totals", 513), ("totals", 2), ("offsets", 2), ("offsets", 513)]


@pytest.mark.parametrize("scan", [models.block_scan, models.device_scan])
@pytest.mark.parametrize("width", [0, -4, 3, 6, 100])
def test_widths_that_are_no_power_of_two(scan: Callable[..., Any], width: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        scan([1], width)
    for wrong in (4.0, True, "4", None):
        with pytest.raises(TypeError, match="width must be an integer"):
            scan([1], wrong)


def test_scans_that_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot hold 5"):
        models.block_scan([1] * 5, 4)
    with pytest.raises(ValueError, match="from 2 on"):
        models.device_scan([1], 1)
    for scan in (models.block_scan, models.device_scan):
        with pytest.raises(OverflowError, match="int64"):
            scan([TOP, 1], 2)
        with pytest.raises(TypeError, match="read once"):
            scan(iter([1]), 2)


# Softmax.


def test_the_states_of_the_running_example() -> None:
    left, right = models.softmax_state(X[:4]), models.softmax_state(X[4:])
    assert (left.m, round(left.d, 6)) == (4, 1.424404)
    assert (right.m, round(right.d, 6)) == (6, 1.386195)
    merged, whole = models.merge_states(left, right), models.softmax_state(X)
    assert (merged.m, round(merged.d, 6)) == (6, 1.578968)
    assert math.isclose(merged.d, whole.d, rel_tol=1e-15)
    m, d = whole
    assert (m, d) == whole


def test_merging_with_the_empty_state() -> None:
    state = (4.0, 1.4244041618673)
    assert (-math.inf, 0) == models.EMPTY
    assert models.merge_states(models.EMPTY, state) == state
    assert models.merge_states(state, models.EMPTY) == state
    assert models.merge_states(models.EMPTY, models.EMPTY) == models.EMPTY
    apart = models.merge_states((-1e308, 1.0), (1e308, 1.0))
    assert apart == (1e308, 1.0)


def test_softmax() -> None:
    assert models.softmax([-10000, 0, 10000]) == [0, 0, 1]
    expected = np.exp(np.array(X) - 6.0)
    np.testing.assert_allclose(models.softmax(X), expected / expected.sum(), rtol=1e-14)
    np.testing.assert_allclose(models.softmax([x + 1000 for x in X]), models.softmax(X), rtol=1e-14)
    got = models.softmax([1, None, 3, None])
    assert (got[1], got[3]) == (0, 0)
    np.testing.assert_allclose([got[0], got[2]], models.softmax([1, 3]), rtol=1e-15)


def test_the_steps_of_softmax() -> None:
    trace: models.Trace = []
    output = models.softmax(X, trace)
    assert [step.name for step in trace] == ["maximum", "shifted sum", "output"]
    assert trace[0].values == [6]
    assert trace[1].values == [models.softmax_state(X).d]
    assert trace[2].values == output
    pairs: models.Trace = []
    models.softmax_state([1, None, 3], pairs)
    assert [step.name for step in pairs] == ["value 0", "value 2"]


@pytest.mark.parametrize("model", [models.softmax, models.softmax_state])
@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([1, math.inf], ValueError),
        ([1, -math.inf], ValueError),
        ([math.nan], ValueError),
        ([None, None], ValueError),
        ([], ValueError),
        (iter(X), TypeError),
        ((x for x in X), TypeError),
        (5, TypeError),
        ("12", TypeError),
        ({1: 2}, TypeError),
        ([1, "2"], TypeError),
    ],
)
def test_rows_that_are_refused(
    model: Callable[..., Any], values: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        model(values)


class Rereadable:
    """Can be iterated again and again, and counts."""

    def __init__(self, values: list[float]) -> None:
        self.values, self.count = values, 0

    def __iter__(self) -> Any:
        for value in self.values:
            self.count += 1
            yield value


@pytest.mark.parametrize("kind", [models.CountedReads, Rereadable])
@pytest.mark.parametrize(("model", "reads"), [(models.softmax, 16), (models.softmax_state, 8)])
def test_how_often_a_row_is_read(kind: Any, model: Callable[..., Any], reads: int) -> None:
    values = kind(X)
    model(values)
    assert values.count == reads


# Argmax, compaction, segments.


def test_argmax() -> None:
    assert models.argmax(X) == 7
    assert models.argmax([6, -1, 6]) == 0
    assert models.argmax([-0.0, 0.0]) == models.argmax([0.0, -0.0]) == 0
    assert models.argmax([1, math.nan, 5, math.nan]) == 1
    assert models.argmax([-math.inf] * 5) == 0
    rng = random.Random(0)
    for size in range(1, 70):
        values = [rng.choice([1.0, 2.0, 3.0, math.nan]) for _ in range(size)]
        assert models.argmax(values) == np.argmax(values)
    trace: models.Trace = []
    models.argmax([1, 5, 2], trace)
    assert trace == [("2 left", [(5, 1), (2, 2)]), ("1 left", [(5, 1)])]
    with pytest.raises(ValueError, match="no values"):
        models.argmax([])


def test_compact() -> None:
    trace: models.Trace = []
    assert models.compact(X, [x > 0 for x in X], trace) == [3, 4, 1, 5, 2, 6]
    assert trace == [
        ("flags", [1, 0, 1, 1, 1, 0, 1, 1]),
        ("destinations", [0, 1, 1, 2, 3, 4, 4, 5]),
        ("kept", [3, 4, 1, 5, 2, 6]),
    ]
    assert models.compact(["a", "b", "c"], [0, -7, 256]) == ["b", "c"]
    assert models.compact(X, np.array(X) > 4) == [5, 6]
    assert models.compact([], []) == []
    for keep, error in (([1] * 7, ValueError), ([1.0] * 8, TypeError), (iter([1] * 8), TypeError)):
        with pytest.raises(error):
            models.compact(X, keep)


def test_segmented_sum() -> None:
    assert models.segmented_sum(X, [0, 4, 4, 8]) == [7, 0, 4]
    assert models.segmented_sum([1] * 10, [0, 1, 1, 6, 10, 10]) == [1, 0, 5, 4, 0]
    assert models.segmented_sum([], [0, 0, 0]) == [0, 0]
    assert models.segmented_sum(X, [3]) == []
    assert models.segmented_sum(X, np.array([2, 3])) == [4]


@pytest.mark.parametrize(
    "offsets", [[], [-1, 8], [0, 5, 3, 8], [0, 5, -3], [0, 9], [9], [0, 8.0], [0, True], [0, None]]
)
def test_wrong_offsets_have_the_text_of_the_kernels(offsets: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError)) as model:
        models.segmented_sum(X, offsets)
    if all(type(offset) is int for offset in offsets):
        with pytest.raises(ValueError, match="offsets") as kernel:
            gpuport.segmented_sum(np.array(X), offsets)
        theirs = str(kernel.value).removeprefix("segmented_sum: ")
        assert str(model.value).replace("values", "x") == theirs


def test_segments_overflow() -> None:
    assert models.segmented_sum([TOP, 1], [0, 1, 2]) == [TOP, 1]
    with pytest.raises(OverflowError, match="int64"):
        models.segmented_sum([TOP, 1], [0, 2])


# The checks of the models themselves.


def test_run_checks(capsys: pytest.CaptureFixture[str]) -> None:
    done = models.run_checks()
    assert (done.hierarchy_sizes, done.scan_cases) == (17, 260)
    told = capsys.readouterr().out
    assert "17 hierarchy sizes up to 262145" in told
    assert "260 recursive scans" in told
    assert told.count("not checked: ") == len(done.not_checked) == 2
    assert "GPU" in told


def test_run_checks_finds_a_wrong_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuport.models import _checks, _sums

    right = _sums._block_scan

    def forgets_the_root(values: Any, width: int, trace: Any) -> Any:
        scanned, total = right(values, width, trace)
        return ([value + 1 for value in scanned] if len(values) > 40 else scanned), total

    monkeypatch.setattr(_sums, "_block_scan", forgets_the_root)
    with pytest.raises(AssertionError, match="device_scan of 63"):
        models.run_checks(lambda line: None)
    monkeypatch.undo()
    monkeypatch.setattr(_checks, "merge_states", lambda a, b: a)
    with pytest.raises(AssertionError, match="merge_states"):
        models.run_checks(lambda line: None)


def test_models_need_the_standard_library_only() -> None:
    assert models.__file__ is not None
    for path in Path(models.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for name in names:
                own = name == "gpuport.models" or name.startswith("gpuport.models.")
                assert own or name.split(".")[0] in sys.stdlib_module_names, (path.name, name)


def test_the_models_agree_with_the_kernels() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 31, 33, 513, 1025):
        x = rng.integers(-9, 10, size)
        values = x.tolist()
        kept = (x > 0).tolist()
        offsets = np.sort(rng.integers(0, size + 1, 9))
        assert models.device_scan(values, 512) == gpuport.exclusive_scan(x).tolist()
        assert models.argmax(values) == gpuport.argmax(x)
        assert models.compact(values, kept) == gpuport.compact(x, x > 0).tolist()
        ours = models.segmented_sum(values, offsets)
        assert ours == gpuport.segmented_sum(x, offsets).tolist()
        got = gpuport.softmax(x.astype(np.float64))
        np.testing.assert_allclose(models.softmax(values), got, rtol=1e-13)
