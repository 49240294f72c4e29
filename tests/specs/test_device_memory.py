"""Checks in device memory, as on a GPU: the CPU backend's own allocations stand in for it here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import specs
from gpuport._backends import native_module
from gpuport.testing import Target, cases, machine, run_case
from gpuport.testing.case import Sparse

CPU = Target("cpu", 32)


@pytest.mark.parametrize(
    "kernel",
    [
        *("reduce.single_pass", "scan.lookback", "scan.pipelined", "argmax.single_pass"),
        *("compact.two_pass", "segmented.merge_path", "softmax.warp_row"),
    ],
)
def test_the_quick_cases_pass(kernel: str) -> None:
    spec = specs.find(kernel)
    assert spec is not None
    how = machine.device_machine(kernel, CPU)
    plan = [case for case in cases(kernel, CPU, quick=True) if not case.order]
    found = {case.name: run_case(spec, case, CPU, how) for case in plan}
    assert len(found) > 20
    assert {name: o.failure for name, o in found.items() if o.status != "passed"} == {}


def test_a_write_outside_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The write lands past the end of `out`: only a look at the bytes on the device shows it."""
    right = gpuport.sum

    def writes_too_far(x: Any, out: Any = None, **keywords: Any) -> Any:
        result = right(x, out=out, **keywords)
        if out is not None:
            native = native_module("cpu")
            native.upload(out.view.address + out.view.itemsize * out.size, np.zeros(1, np.uint8), 0)
        return result

    monkeypatch.setattr(gpuport, "sum", writes_too_far)
    spec = specs.find("reduce.single_pass")
    assert spec is not None
    how = machine.device_machine("reduce.single_pass", CPU)
    (case,) = (c for c in cases("reduce.single_pass", CPU) if c.name == "sum-int32-33-uniform")
    outcome = run_case(spec, case, CPU, how)
    assert outcome.failure is not None
    assert outcome.failure.check == "wrote outside out"
    assert outcome.failure.difference.message.startswith("byte 8 from its first element")


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000])
def test_a_sparse_operand_is_written_by_the_piece(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "CHUNK_BYTES", 64)
    how = machine.device_machine("reduce.single_pass", CPU)
    assert how.place_sparse is not None
    array = how.place_sparse(Sparse((size,), "int16", {0: 1, size // 2: 7, size - 1: -3}))
    expected = np.zeros(size, np.int16)
    for index, value in ((0, 1), (size // 2, 7), (size - 1, -3)):
        expected[index] = value
    np.testing.assert_array_equal(array.to_numpy(), expected)


@pytest.mark.parametrize("kernel", ["reduce.single_pass", "reduce.warp_shuffle"])
def test_a_gpu_is_asked_for_more_than_2_to_the_31_elements(kernel: str) -> None:
    large, small = Target("cuda", 32, memory=140 << 30), Target("cuda", 32, memory=2 << 30)
    spec = specs.find(kernel)
    assert spec is not None
    huge = [case for case in spec.cases(large) if math.prod(case.shape) > 2**31]
    assert {case.op for case in huge} == {"sum", "max"}
    for case in huge:
        assert spec.skip(case, large) is None
        assert "GiB on the device" in (spec.skip(case, small) or "")
    assert not [case for case in spec.cases(CPU) if math.prod(case.shape) > 2**31]
