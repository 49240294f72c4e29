"""One workload measured on the CPU backend: the checks around the timed part, and the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpuport.bench.calls import UnsupportedError, own_steps
from gpuport.bench.measure import Protocol, Row, measure
from gpuport.bench.peers import Prepared
from gpuport.bench.rig import BufferSet, Rig
from gpuport.specs.workloads import Workload, workload
from gpuport.testing.case import Shape

QUICK = Protocol(warmups=1, samples=3, runs=2)
SHAPES = {
    "reduce": Shape("int32", (1025,), ""),
    "scan": Shape("float32", (1025,), ""),
    "argmax": Shape("float32", (3, 257), ""),
    "compact": Shape("int32", (1025,), ""),
    "segmented": Shape("float32", (1025,), "", pattern="power.10"),
    "softmax": Shape("bfloat16", (5, 129), ""),
}


@pytest.fixture
def rig() -> Rig:
    return Rig("cpu")


class FakePeer:
    """A peer whose calls do what the test says: a function of the number of calls so far."""

    name, version = "fake", "1"

    def __init__(self, act: Callable[[int, Callable[[], None]], None]) -> None:
        self._act, self.calls = act, 0

    def prepare(self, work: Workload, sets: Sequence[BufferSet], rig: Rig) -> Prepared:
        def call_of(each: BufferSet) -> Callable[[], None]:
            (real,) = own_steps("reduce.single_pass", work, each, rig)

            def call() -> None:
                self.calls += 1
                self._act(self.calls, real)

            return call

        return Prepared([[call_of(each)] for each in sets], "fake call")


def only(rows: list[Row], library: str) -> Row:
    (row,) = (row for row in rows if row.library == library)
    return row


@pytest.mark.parametrize("family", SHAPES)
def test_the_default_of_every_family_is_right_and_timed(family: str, rig: Rig) -> None:
    work = workload(family, SHAPES[family])
    row = only(measure(work, [f"{family}.default"], [], rig, QUICK), "gpuport")
    assert (row.check_before, row.check_after) == ("ok", "ok")
    assert [len(run) for run in row.runs] == [3, 3]
    assert min(min(run) for run in row.runs) > 0
    assert row.kernel.startswith(f"{family}.")
    assert row.gb_per_s == pytest.approx(work.nbytes / row.median / 1e3)
    assert row.percent_of_copy is not None


def test_copies_move_as_many_bytes_as_the_workload(rig: Rig) -> None:
    work = workload("reduce", SHAPES["reduce"])
    copies = [row for row in measure(work, [], [], rig, QUICK) if row.library == "copy"]
    assert {row.kernel for row in copies} == {"memcpy", "kernel"}
    assert all(row.nbytes == work.nbytes == 4 * 1025 for row in copies)


def test_cold_sets_hold_more_than_the_cache(rig: Rig) -> None:
    work = workload("reduce", Shape("int32", (1 << 16,), ""))
    cold = only(measure(work, ["reduce.default"], [], rig, QUICK), "gpuport")
    assert cold.sets * cold.set_bytes > 2 * rig.facts["l2_bytes"]
    warm = measure(work, ["reduce.default"], [], rig, replace(QUICK, cold=False))
    assert only(warm, "gpuport").sets == 1


def test_a_peer_that_is_right_is_timed(rig: Rig) -> None:
    work = workload("reduce", SHAPES["reduce"])
    row = only(measure(work, [], [FakePeer(lambda _, real: real())], rig, QUICK), "fake")
    assert not row.failed
    assert row.kernel == "fake call"
    assert len(row.runs) == 2


def test_a_call_that_writes_nothing_fails_before(rig: Rig) -> None:
    work = workload("reduce", SHAPES["reduce"])
    row = only(measure(work, [], [FakePeer(lambda _, real: None)], rig, QUICK), "fake")
    assert row.failed
    assert row.check_before == f"element 0 is {np.int64(-0x5A5A5A5A5A5A5A5B)}, not {work.expected}"
    assert row.check_after == "not run"
    assert row.runs == []


def test_calls_that_stop_writing_fail_after(rig: Rig) -> None:
    """The first call, which is checked before the timed part, is right; the others do nothing.

    With one set of buffers what the first call wrote is still there, unless it is poisoned again.
    """
    work = workload("reduce", SHAPES["reduce"])

    def act(number: int, real: Callable[[], None]) -> None:
        if number == 1:
            real()

    row = only(measure(work, [], [FakePeer(act)], rig, replace(QUICK, cold=False)), "fake")
    assert row.check_before == "ok"
    assert row.check_after.startswith("element 0 is ")
    assert row.failed
    assert row.runs == []


def test_a_call_that_raises_fails_with_its_words(rig: Rig) -> None:
    def act(_: int, real: Callable[[], None]) -> None:
        raise RuntimeError("out of luck")

    work = workload("reduce", SHAPES["reduce"])
    row = only(measure(work, [], [FakePeer(act)], rig, QUICK), "fake")
    assert row.check_before == "raised RuntimeError: out of luck"
    assert row.failed


def test_what_a_library_has_no_call_for_is_not_a_failure(rig: Rig) -> None:
    class Without(FakePeer):
        def prepare(self, *_: Any) -> Prepared:
            raise UnsupportedError("no such call")

    work = workload("reduce", SHAPES["reduce"])
    peer = Without(lambda _, real: None)
    row = only(measure(work, [], [peer], rig, QUICK), "fake")
    assert (row.failed, row.note, row.runs) == (False, "no such call", [])


def test_a_variant_that_refuses_the_shape_says_why(rig: Rig) -> None:
    work = workload("softmax", Shape("float32", (1, 32_769), ""))
    row = only(measure(work, ["softmax.online_registers"], [], rig, QUICK), "gpuport")
    assert not row.failed
    assert "32768 columns" in row.note


def test_temporary_storage_is_counted(rig: Rig) -> None:
    work = workload("reduce", Shape("int32", (1 << 18,), ""))
    row = only(measure(work, ["reduce.hierarchical"], [], rig, QUICK), "gpuport")
    assert row.temporary_bytes is not None
    assert 0 < row.temporary_bytes <= work.x.nbytes // 100 + (1 << 20)
