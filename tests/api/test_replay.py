"""Calls that repeat: the second one skips the checks, and must not skip what they are for."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import pydoc
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import _replay
from gpuport._backends import native_module


@pytest.fixture(autouse=True)
def no_plans() -> Iterator[None]:
    _replay._plans.clear()
    yield
    _replay._plans.clear()


def plans() -> list[bool]:
    return _replay._plans.filled()


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


def test_device_arrays() -> None:
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    made = [gpuport.DeviceArray.from_numpy(host + n, backend="cpu") for n in range(3)]
    out = gpuport.DeviceArray.empty((4,), "float32", backend="cpu")
    for n, x in enumerate(made):
        assert gpuport.sum(x, axis=1, out=out) is out
        np.testing.assert_array_equal(out.to_numpy(), (host + n).sum(1))
        total = gpuport.sum(x, axis=1)
        assert isinstance(total, gpuport.DeviceArray)
        np.testing.assert_array_equal(total.to_numpy(), (host + n).sum(1))
    assert plans() == [True, True]
    integers = made[0].reinterpret("int32")
    assert gpuport.max(integers).to_numpy() == host.view(np.int32).max()
    assert gpuport.max(made[0]).to_numpy() == 23
    with pytest.raises(TypeError, match="out has dtype"):
        gpuport.sum(made[0], axis=1, out=out.reinterpret("int32"))
    with pytest.raises(ValueError, match="has no stream"):
        gpuport.sum(made[0], axis=1, out=out, stream=12345)


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


def test_a_dtype_in_every_form() -> None:
    x = np.arange(5, dtype=np.float32)
    for dtype in ("float64", np.float64, np.dtype("float64")):
        for _ in range(2):
            assert gpuport.sum(x, dtype=dtype).dtype == np.float64
    assert gpuport.sum(x, dtype=np.dtype("float32")).dtype == np.float32
    assert plans() == [True] * 4


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
    monkeypatch.setattr(_replay._plans, "most", 8)
    for n in range(1, 40):
        assert gpuport.sum(np.ones(n, np.int64)) == n
    assert 0 < len(_replay._plans) <= 8


def test_positions_and_keywords_are_one_call() -> None:
    x, out = np.arange(12.0).reshape(3, 4), np.empty(3)
    for call in (
        lambda: gpuport.sum(x, 1, None, out),
        lambda: gpuport.sum(x, 1, None, out=out),
        lambda: gpuport.sum(x, 1, dtype=None, out=out),
        lambda: gpuport.sum(x=x, out=out, **{"ax" + "is": 1, "dtype": None}),
        lambda: gpuport.sum(x, 1, None, out, stream=None),
    ):
        out[:] = -1
        assert call() is out
        np.testing.assert_array_equal(out, x.sum(1))
    assert plans() == [True]
    for wrong in ({"axes": 1}, {"x": x}):
        with pytest.raises(TypeError, match="argument"):
            gpuport.sum(x, **wrong)
    with pytest.raises(TypeError, match="argument"):
        gpuport.sum()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        gpuport.sum(x, 1, None, out, "wrap", False, "cpu")  # type: ignore[misc]


def test_a_function_is_what_it_was() -> None:
    """To help(), to pickle and copy, in a class, as a weak reference."""
    signature = inspect.signature(gpuport.sum)
    assert list(signature.parameters)[:4] == ["x", "axis", "dtype", "out"]
    assert signature.parameters["deterministic"].kind is inspect.Parameter.KEYWORD_ONLY
    text = pydoc.render_doc(gpuport.sum, renderer=pydoc.plaintext)
    assert "sum(x: 'Any', axis:" in text
    assert "Every element is widened" in text
    assert inspect.isroutine(gpuport.sum)
    assert callable(gpuport.sum)
    assert (gpuport.sum.__name__, gpuport.sum.__module__) == ("sum", "gpuport.ops._reduce")
    assert gpuport.sum.__wrapped__.__name__ == "sum"
    assert repr(gpuport.sum).startswith("<function sum at 0x")
    assert pickle.loads(pickle.dumps(gpuport.sum)) is gpuport.sum
    assert copy.deepcopy(gpuport.sum) is gpuport.sum
    assert weakref.ref(gpuport.sum)() is gpuport.sum

    class Holder(np.ndarray):
        total = gpuport.sum

    assert np.arange(5).view(Holder).total() == 10
    assert Holder.total is gpuport.sum


def test_a_failed_launch_is_the_modules_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the error of the launch, once a call goes straight to one."""
    native, found = native_module("cpu"), _replay._plan_of
    operands = ((0, "int64", 8, 1), (0, "float64", 1, 1))
    refused = native.prepare("reduce.checked", "checked_sum", 1, 8, *operands, None, 0, 0)

    def broken(*arguments: Any) -> Any:
        plan = found(*arguments)
        assert plan is not None
        return plan._replace(entry=refused.entry, owner=refused)

    monkeypatch.setattr(_replay, "_plan_of", broken)
    x, out = np.ones(8), np.empty(())
    for options in ({}, {"out": out}):
        gpuport.sum(x, **options)
        counts = sys.getrefcount(x), sys.getrefcount(out)
        for _ in range(3):
            with pytest.raises(ValueError, match=r"reduce\.checked writes int64"):
                gpuport.sum(x, **options)
        assert counts == (sys.getrefcount(x), sys.getrefcount(out))


def test_calls_from_many_threads() -> None:
    """Plans come and go while others use them."""
    x = np.arange(64, dtype=np.int64)

    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        right = True
        for _ in range(60):
            n, out = int(rng.integers(1, 9)), np.empty((), np.int64)
            gpuport.sum(x[:n], out=out)
            right &= out == n * (n - 1) // 2
            if rng.integers(10) == 0:
                _replay._plans.clear()
        return bool(right)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
