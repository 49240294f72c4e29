"""Scan, argmax, compaction and segments: small cases with exact answers, on every backend."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gpuport
from gpuport._backends import native_module
from gpuport.testing import Target

X = np.array([3, -1, 4, 1, 5, -9, 2, 6], np.int32)
KERNELS = [kernel.name for kernel in gpuport.kernels()]
every_scan = pytest.mark.parametrize("kernel", [k for k in KERNELS if k.startswith("scan.")])


def where(kernel: str, target: Target) -> dict[str, Any]:
    variant = kernel.partition(".")[2]
    return {"backend": target.backend, "warp_size": target.warp_size, "variant": variant}


@every_scan
def test_the_running_example(kernel: str, target: Target) -> None:
    on = where(kernel, target)
    got = gpuport.exclusive_scan(X, **on)
    assert (got.tolist(), got.dtype) == ([0, 3, 2, 6, 7, 12, 3, 5], np.int64)
    got = gpuport.inclusive_scan(X, **on)
    assert (got.tolist(), got.dtype) == ([3, 2, 6, 7, 12, 3, 5, 11], np.int64)


@every_scan
def test_scans_are_widened(kernel: str, target: Target) -> None:
    on = where(kernel, target)
    got = gpuport.inclusive_scan(np.full(3, 2**31 - 1, np.int32), **on)
    assert got.tolist() == [2147483647, 4294967294, 6442450941]
    got = gpuport.exclusive_scan(np.full(5, 0.5), **on)
    assert got.tolist() == [0, 0.5, 1, 1.5, 2]


@pytest.mark.parametrize("kernel", ["scan.lookback", "scan.reduce_scan"])
@pytest.mark.parametrize(
    ("dtype", "count", "last"),
    [
        (np.uint8, 300, 300),
        (np.bool_, 70000, 70000),
        (np.float16, 4096, 4096),
        (ml_dtypes.bfloat16, 70000, 70144),  # 70,000 rounded to bfloat16
    ],
)
def test_narrow_types_have_wide_accumulators(
    kernel: str, dtype: Any, count: int, last: int, target: Target
) -> None:
    got = gpuport.inclusive_scan(np.ones(count, dtype), **where(kernel, target))
    assert float(got[-1]) == last


@every_scan
def test_a_float_scan_in_place(kernel: str, target: Target) -> None:
    x = np.ones(10_000)
    assert gpuport.inclusive_scan(x, out=x, **where(kernel, target)) is x
    np.testing.assert_array_equal(x, np.arange(1, 10_001))


@pytest.mark.parametrize(
    "kernel",
    [
        k
        for k in KERNELS
        if k
        in (
            "scan.serial",
            "scan.hillis_steele",
            "scan.blelloch",
            "scan.hierarchical",
            "scan.reduce_scan",
        )
    ],
)
def test_what_repeats_does(kernel: str, target: Target) -> None:
    """Two hundred calls; a sum of these depends on its order."""
    x = np.random.default_rng(0).normal(size=9001).astype(np.float32)
    on = where(kernel, target)
    first = gpuport.inclusive_scan(x, deterministic=True, **on).tobytes()
    assert {gpuport.inclusive_scan(x, **on).tobytes() for _ in range(200)} == {first}


def test_argmax(target: Target) -> None:
    on = where("argmax.single_pass", target)
    assert gpuport.argmax(X, **on) == 7
    assert gpuport.argmax(np.array([6, -1, 6]), **on) == 0
    ties = np.zeros(130, np.float32)
    ties[[33, 65, 97]] = 7
    assert gpuport.argmax(ties, **on) == 33
    assert gpuport.argmax(np.array([-0.0, 0.0]), **on) == 0
    assert gpuport.argmax(np.array([1, np.nan, 5, np.nan]), **on) == 1


@pytest.mark.parametrize("size", [1, 65, 1025, 70001])
def test_data_equal_to_the_start_value(size: int, target: Target) -> None:
    on = where("argmax.single_pass", target)
    for value, dtype in ((0, "u4"), (-(2**31), "i4"), (-np.inf, "f4")):
        assert gpuport.argmax(np.full(size, value, dtype), **on) == 0
    for value, dtype in ((2**64 - 1, "u8"), (np.finfo("f8").max, "f8")):
        assert gpuport.argmin(np.full(size, value, dtype), **on) == 0


def test_argmax_of_rows_of_one_element(target: Target) -> None:
    x = np.zeros((40, 900, 1), np.float32)
    got = gpuport.argmax(x, axis=2, **where("argmax.single_pass", target))
    np.testing.assert_array_equal(got, np.zeros((40, 900), np.int64), strict=True)


def test_compaction(target: Target) -> None:
    on = where("compact.two_pass", target)
    assert gpuport.compact(X, X > 0, **on).tolist() == [3, 4, 1, 5, 2, 6]
    assert gpuport.nonzero(X > 0, **on).tolist() == [0, 2, 3, 4, 6, 7]
    assert gpuport.compact(X, np.zeros(8, bool), **on).shape == (0,)


def test_segments(target: Target) -> None:
    on = where("segmented.merge_path", target)
    assert gpuport.segmented_sum(X, [0, 4, 4, 8], **on).tolist() == [7, 0, 4]
    ones = np.ones(10)
    assert gpuport.segmented_sum(ones, [0, 1, 1, 6, 10, 10], **on).tolist() == [1, 0, 5, 4, 0]
    assert gpuport.segmented_sum(ones[:0], [0, 0, 0], **on).tolist() == [0, 0]
    bools = gpuport.segmented_min(X > 9, [0, 0, 8], **on)
    assert bools.view(np.uint8).tolist() == [1, 0]  # a byte that is a bool, also of no elements


@pytest.mark.parametrize("op", ["compact", "nonzero"])
def test_a_rejected_element_writes_nothing(op: str, cpu: Target) -> None:
    """The kernel itself, with room after the result that must stay as it is."""
    native = native_module("cpu")
    ordinal = 0 if cpu.warp_size == 32 else 1
    x = np.arange(5000, dtype=np.int64)
    keep = (x % 3 == 1).astype(np.int32)
    count, offsets, out = np.zeros(1, np.int64), np.zeros(4096, np.int64), np.full(5000, -7)

    def row(array: np.ndarray[Any, Any]) -> tuple[int, str, int, int]:
        return (array.ctypes.data, array.dtype.name, 0, 1)

    def run(op: str, read: Any, written: Any, mask: Any) -> None:
        native.run("compact.two_pass", op, 1, 5000, read, written, mask, ordinal, 0, row(offsets))

    run("count", row(keep), row(count), None)
    if op == "compact":
        run("compact", row(x), row(out), row(keep))
    else:
        run("nonzero", row(keep), row(out), None)
    expected = np.arange(1, 5000, 3)
    assert count[0] == expected.size
    np.testing.assert_array_equal(out[: expected.size], expected)
    assert (out[expected.size :] == -7).all()
