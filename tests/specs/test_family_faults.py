"""The specs of scan, argmax, compaction and segments find each planted fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from gpuport import specs
from gpuport.testing import Machine, Outcome, Target, cases, run_case
from gpuport.testing.dtypes import Array, sum_dtype
from gpuport.testing.engine import Call

Options = Mapping[str, Any]
TARGET = Target("cpu", 32)


def run(kernel: str, name: str, call: Call) -> Outcome:
    spec = specs.find(kernel)
    assert spec is not None
    (case,) = (case for case in cases(kernel, TARGET) if case.name == name)
    return run_case(spec, case, TARGET, Machine(call))


def give(result: Array, out: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


def test_a_scan_that_is_wrong_in_place_is_found() -> None:
    """It starts to write before it has read everything."""

    def call(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
        x = arrays["x"]
        dtype = sum_dtype(x.dtype.name)
        if out is None or not np.shares_memory(x, out):
            return give(np.cumsum(x, dtype=dtype), out)
        out[1:] += out[:-1].copy()
        return out

    case = "inclusive_scan-float64-33-axis0-uniform"
    outcome = run("scan.serial", case, call)
    assert outcome.failure is not None
    assert outcome.failure.check == "out=x changes the result"


@pytest.mark.parametrize(
    ("kernel", "case", "fault"),
    [
        # an inclusive scan for an exclusive one
        ("scan.serial", "exclusive_scan-int32-33-axis0-uniform", lambda x, _: np.cumsum(x)),
        # the last of equal elements
        (
            "argmax.single_pass",
            "argmax-int32-1025-ties",
            lambda x, _: np.array(x.size - 1 - np.argmax(x[::-1])),
        ),
        # the kept elements in another order
        (
            "compact.two_pass",
            "compact-int32-65-wide-mask.random.bool",
            lambda x, more: np.sort(x[more["keep"]]),
        ),
        # flags of which only the low byte is looked at
        (
            "compact.two_pass",
            "compact-int32-65-wide-mask.top.int32",
            lambda x, more: x[more["keep"].astype(np.uint8) != 0],
        ),
        # NumPy's own reduceat: an empty segment gives the next element
        (
            "segmented.merge_path",
            "segmented_sum-int32-65-uniform-segments.trailing.int64",
            lambda x, more: np.add.reduceat(x.astype(np.int64), more["offsets"][:-1]),
        ),
        # an identity of 0 for the maximum
        (
            "segmented.merge_path",
            "segmented_max-int32-65-uniform-segments.all_empty.int64",
            lambda x, more: np.zeros(more["offsets"].size - 1, np.int32),
        ),
        # offsets that are not looked at
        (
            "segmented.merge_path",
            "segmented_sum-int32-65-uniform-segments.decreasing.int64-refused",
            lambda x, more: np.zeros(more["offsets"].size - 1, np.int64),
        ),
    ],
)
def test_a_planted_fault_of_a_family_is_found(kernel: str, case: str, fault: Any) -> None:
    def call(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
        return give(fault(arrays["x"], arrays), out)

    outcome = run(kernel, case, call)
    assert outcome.failure is not None
    assert outcome.failure.check in ("wrong result", "not refused")
