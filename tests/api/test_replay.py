"""Calls that repeat: the second one skips the checks, and must not skip what they are for."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import _replay


@pytest.fixture(autouse=True)
def no_plans() -> Iterator[None]:
    _replay._plans.clear()
    yield
    _replay._plans.clear()


def plans() -> list[bool]:
    return [plan is not None for plan in _replay._plans.values()]


CALLS = [
    ("sum", {}, (7, 33), np.sum),
    ("sum", {"axis": 1}, (7, 33), lambda x: np.sum(x, axis=1)),
    ("max", {"axis": 0}, (7, 33), lambda x: np.max(x, axis=0)),
    ("inclusive_scan", {"axis": 1}, (7, 33), lambda x: np.cumsum(x, axis=1)),
    ("argmin", {"axis": 1}, (7, 33), lambda x: np.argmin(x, axis=1)),
]


@pytest.mark.parametrize(("name", "options", "shape", "reference"), CALLS)
def test_a_repeated_call_reads_and_writes_what_it_is_given(
    name: str, options: dict[str, Any], shape: tuple[int, ...], reference: Any
) -> None:
    rng = np.random.default_rng(5)
    function = getattr(gpuport, name)
    for _ in range(3):
        x = rng.integers(-9, 10, shape).astype(np.int64)
        np.testing.assert_array_equal(function(x, **options), reference(x))
    assert plans() == [True]
    if name.startswith("arg"):
        return
    for _ in range(3):
        x = rng.integers(-9, 10, shape).astype(np.int64)
        out = np.full(reference(x).shape, -77, np.int64)
        assert function(x, out=out, **options) is out
        np.testing.assert_array_equal(out, reference(x))
    assert plans() == [True, True]


def test_views_into_one_array_share_a_plan() -> None:
    x = np.arange(4096, dtype=np.float32)
    for start in (0, 4, 400, 2000):
        part = x[start : start + 1000 : 2][::-1]
        assert gpuport.sum(part) == part.sum(dtype=np.float64)
    assert plans() == [True]


def test_softmax_in_place_and_beside() -> None:
    x = np.linspace(-3, 3, 130, dtype=np.float32).reshape(2, 65)
    expected = np.array(gpuport.softmax(x))
    for _ in range(2):
        y = x.copy()
        gpuport.softmax(y, out=y)
        np.testing.assert_array_equal(y, expected)
        out = np.full_like(x, np.nan)
        gpuport.softmax(x, out=out)
        np.testing.assert_array_equal(out, expected)


def test_what_was_refused_stays_refused() -> None:
    memory = np.zeros(200, np.float32)
    x, out = memory[:100], np.empty(100, np.float32)
    for _ in range(2):
        gpuport.inclusive_scan(x, out=out)
    before = memory.copy()
    with pytest.raises(ValueError, match="overlap"):
        gpuport.inclusive_scan(x, out=memory[16:116])  # as far from a vector's edge as out
    with pytest.raises(TypeError):
        gpuport.inclusive_scan(x, out=np.empty(100, np.float64))
    with pytest.raises(ValueError, match="shape"):
        gpuport.inclusive_scan(x, out=np.empty(99, np.float32))
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"read-only|writ"):
        gpuport.inclusive_scan(x, out=out)
    np.testing.assert_array_equal(memory, before)


def test_memory_that_became_too_small_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a tensor's is whose storage was resized: the whole way refuses it by name."""
    x, out = np.ones(100, np.float32), np.empty(100, np.float32)
    for _ in range(2):
        gpuport.inclusive_scan(x, out=out)
    (plan,) = _replay._plans.values()
    assert plan is not None
    library = _replay._libraries[np.ndarray]
    assert library is not None
    facts = {id(x): library.facts(x), id(out): library.facts(out)}
    for small in (x, out):
        launches: list[tuple[int, ...]] = []

        def shrunk(array: Any, small: Any = small) -> Any:
            return facts[id(array)]._replace(room=399 if array is small else 400)  # type: ignore[union-attr]

        def launch(*addresses: int, launches: list[Any] = launches) -> None:
            launches.append(addresses)

        monkeypatch.setitem(_replay._libraries, np.ndarray, library._replace(facts=shrunk))
        key = next(iter(_replay._plans))
        monkeypatch.setitem(_replay._plans, key, plan._replace(launch=launch))
        gpuport.inclusive_scan(x, out=out)
        assert launches == []


def test_true_is_not_one() -> None:
    x = np.ones((3, 4), np.float32)
    for _ in range(2):
        gpuport.sum(x, 1)
        gpuport.sum(x, axis=1)
    for refused in (True, 1.0, "1"):
        with pytest.raises((TypeError, ValueError)):
            gpuport.sum(x, refused)  # type: ignore[arg-type]
        with pytest.raises((TypeError, ValueError)):
            gpuport.sum(x, axis=refused)  # type: ignore[arg-type]


def test_what_must_look_at_values_has_no_plan() -> None:
    x = np.ones(100, np.float32)
    for _ in range(2):
        gpuport.sum(x, nonfinite="raise")
    x[7] = np.nan
    with pytest.raises(ValueError, match="index 7"):
        gpuport.sum(x, nonfinite="raise")
    for _ in range(2):
        gpuport.sum(np.arange(5), overflow="raise")
    with pytest.raises(OverflowError):
        gpuport.sum(np.array([2**63 - 1, 1, 0, 0, 0]), overflow="raise")
    assert not any(plans())


def test_a_mask_is_read_anew_and_not_kept() -> None:
    x = np.zeros((2, 4), np.float32)
    for keep in ([1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 0]):
        mask = np.array([keep, keep], bool)
        np.testing.assert_allclose(gpuport.softmax(x, mask=mask), mask / mask.sum(1, keepdims=True))
    kept = weakref.ref(mask)
    del mask
    gc.collect()
    assert kept() is None


def test_the_widths_are_different_calls() -> None:
    x = np.random.default_rng(1).normal(size=4099).astype(np.float32)
    by_width = {w: float(gpuport.sum(x, warp_size=w, variant="warp_shuffle")) for w in (32, 64)}
    for width, value in by_width.items():
        assert float(gpuport.sum(x, warp_size=width, variant="warp_shuffle")) == value
    assert plans() == [True, True]


def test_plans_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_replay, "_MOST_PLANS", 8)
    for n in range(1, 40):
        assert gpuport.sum(np.ones(n, np.int64)) == n
    assert len(_replay._plans) <= 8
