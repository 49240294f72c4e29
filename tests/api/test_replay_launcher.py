"""How the launcher knows a call again, with a launch that only notes what it was given.

The arrays look like CuPy's: no GPU is needed to read one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpuport import _launcher

FLOAT, INT = np.dtype("float32"), np.dtype("int32")
STREAMS = {0: 0x1000, 1: 0x2000}


class Array:
    """As much of cupy.ndarray as is read."""

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...] = (4,),
        strides: tuple[int, ...] = (4,),
        dtype: Any = FLOAT,
        device: int = 0,
    ) -> None:
        self.data = SimpleNamespace(ptr=address, device_id=device)
        self.shape, self.strides, self.dtype = shape, strides, dtype


class Subclass(Array):
    pass


@dataclass
class Recorder:
    """Stands for the package: what was called the whole way, and what was launched."""

    whole: list[tuple[Any, ...]] = field(default_factory=list)
    launches: list[tuple[int, ...]] = field(default_factory=list)
    met: list[type] = field(default_factory=list)
    x: tuple[int, int] = (0, 16)
    out: tuple[int, int] = (0, 16)
    status: int = 0

    def __post_init__(self) -> None:
        def enqueue(*arguments: int | None) -> int:
            self.launches.append(tuple(value or 0 for value in arguments))
            return self.status

        self.entry = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(enqueue)
        self.plans = _launcher.Plans(16)

        def function(
            x: Any, axis: Any = None, out: Any = None, *, stream: Any = None, mode: Any = None
        ) -> Any:
            self.whole.append((x, axis, out, stream, mode))
            return Array(0x9000) if out is None else out

        def record(whole: Any, args: Any, kwargs: Any, x: int, out: int | None, key: Any) -> Any:
            address = ctypes.cast(self.entry, ctypes.c_void_p).value
            plan = ((address, 7), self, self.x, self.out, x == out, lambda like: Array(0x8000))
            self.plans.add(key, plan)
            return whole(*args, **kwargs)

        names = ("x", "axis", "out", "stream", "mode")
        self.call = _launcher.replayed(function, names, 3, record, self.met.append, self.plans)

    def goes_straight(self, *args: Any, **kwargs: Any) -> bool:
        before = len(self.whole), len(self.launches)
        self.call(*args, **kwargs)
        done = len(self.whole) - before[0], len(self.launches) - before[1]
        assert done in ((0, 1), (1, 0))
        return done == (0, 1)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    def current_stream(device: int) -> Any:
        return SimpleNamespace(ptr=STREAMS[device])

    _launcher.replay_cupy(Array, current_stream, None)
    return Recorder()


def test_the_second_call_is_launched_on_its_own_arrays_and_stream(recorder: Recorder) -> None:
    for device, stream in STREAMS.items():
        assert not recorder.goes_straight(Array(0x100, device=device), out=Array(0x200))
        assert recorder.goes_straight(Array(0x300, device=device), out=Array(0x400))
        assert recorder.launches[-1] == (7, 0x300, 0x400, stream)


def test_a_result_is_made_where_there_is_no_out(recorder: Recorder) -> None:
    recorder.call(Array(0x100))
    made = recorder.call(Array(0x300), out=None)
    assert made.data.ptr == 0x8000
    assert recorder.launches == [(7, 0x300, 0x8000, 0x1000)]


LAYOUTS: list[dict[str, Any]] = [  # "address": so much further
    {"shape": (2, 2), "strides": (8, 4)},
    {"shape": (2, 2), "strides": (4, 8)},
    {"shape": (4,), "strides": (-4,)},
    {"shape": (), "strides": ()},
    {"dtype": INT},
    {"device": 1},
    {"address": 4},
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_layout_is_another_call(recorder: Recorder, layout: dict[str, Any]) -> None:
    layout = {**layout}
    offset = layout.pop("address", 0)
    recorder.call(Array(0x100), out=Array(0x200))
    assert not recorder.goes_straight(Array(0x100 + offset, **layout), out=Array(0x200))
    assert not recorder.goes_straight(Array(0x100), out=Array(0x200 + offset, **layout))
    assert recorder.goes_straight(Array(0x100), out=Array(0x200))


VALUES: list[Any] = [
    None, 0, 1, -1, 2**62, False, True, "", "a", "abcdefgh", "abcdefghi", (), (0,), (False,),
    (0, 1), ((0,), 1), (0, (1,)), int, np.float32, np.float64, FLOAT, INT,
]  # fmt: skip


def test_keywords_are_told_apart_by_value_and_type(recorder: Recorder) -> None:
    recorder.plans.most = 100
    x = Array(0x100)
    for repeated in (False, True):
        for value in VALUES:
            assert recorder.goes_straight(x, mode=value) is repeated, value
    assert recorder.goes_straight(x, mode="abc" + "defgh")
    assert not recorder.goes_straight(x, value := 1)
    assert recorder.goes_straight(x, axis=value)
    assert not recorder.goes_straight(x, 1, mode=1)
    assert recorder.goes_straight(x, mode=1, axis=1)


@pytest.mark.parametrize(
    "value",
    [1.0, 2**64, np.int64(1), [1], (1.5,), "\ud800", "a" * 1000, tuple(range(100))],
    ids=lambda value: type(value).__name__,
)
def test_other_keywords_have_no_plan(recorder: Recorder, value: Any) -> None:
    for _ in range(2):
        assert not recorder.goes_straight(Array(0x100), mode=value)
    assert len(recorder.plans) == 0


def test_more_dimensions_than_a_key_holds(recorder: Recorder) -> None:
    for dims, straight in ((8, True), (64, False)):
        x = Array(0x100, (1,) * dims, (4,) * dims)
        recorder.call(x)
        assert recorder.goes_straight(x) is straight


def test_what_takes_the_whole_way(recorder: Recorder) -> None:
    x, out = Array(0x100), Array(0x200)
    recorder.call(x, out=out)
    assert recorder.goes_straight(x, out=out, stream=None)
    assert not recorder.goes_straight(x, out=out, stream=0)
    assert not recorder.goes_straight(Subclass(0x100), out=out)
    assert not recorder.goes_straight(x, out=Subclass(0x200))
    assert recorder.met == [Subclass]
    x.data = None
    assert not recorder.goes_straight(x, out=out)
    x.data, x.strides = SimpleNamespace(ptr="0x100", device_id=0), (4,)
    assert not recorder.goes_straight(x, out=out)
    for _ in range(2):  # on a device whose stream cannot be told
        assert not recorder.goes_straight(Array(0x100, device=2), out=Array(0x200, device=2))


def test_overlaps(recorder: Recorder) -> None:
    recorder.x, recorder.out = (-8, 16), (0, 24)
    x = Array(0x1000)
    for first in (0x2000, 0x1000):
        recorder.call(x, out=Array(first))
    assert recorder.goes_straight(x, out=Array(0x1000))  # in place
    for distance, straight in ((16, True), (32, True), (-32, True), (-16, False)):
        assert recorder.goes_straight(x, out=Array(0x1000 + distance)) is straight, distance


def test_errors_arrive(recorder: Recorder) -> None:
    x, out = Array(0x100), Array(0x200)
    recorder.call(x, out=out)
    recorder.status = -1
    with pytest.raises(SystemError):  # the launch failed and did not say why
        recorder.call(x, out=out)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        recorder.call(x, nothing=1)
    with pytest.raises(TypeError, match="multiple values for argument 'out'"):
        recorder.call(x, 0, out, out=out)
    with pytest.raises(TypeError, match="positional argument"):
        recorder.call(out=out)
    with pytest.raises(TypeError, match="positional argument"):
        recorder.call(x, 0, out, 0)


def test_an_interrupt_is_not_lost(recorder: Recorder) -> None:
    class Interrupted:
        device_id = 0

        @property
        def ptr(self) -> int:
            raise KeyboardInterrupt

    x = Array(0x100)
    x.data = Interrupted()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        recorder.call(x)
    assert recorder.whole == []


def test_a_plan_keeps_what_its_key_names(recorder: Recorder) -> None:
    """Else another dtype at the address of a dead one would pass for it."""
    for size in range(1, 15):
        dtype = np.dtype(f"V{size + 16}")
        assert not recorder.goes_straight(Array(0x100, dtype=dtype))
        recorder.whole.clear()
        del dtype


def test_the_most_plans(recorder: Recorder) -> None:
    recorder.plans.most = 3
    for n in range(1, 9):
        recorder.call(Array(0x100, (n,)))
        assert len(recorder.plans) == (n - 1) % 3 + 1
    recorder.plans.clear()
    assert len(recorder.plans) == 0
    assert recorder.plans.filled() == []
