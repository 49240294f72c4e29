"""What is benchmarked: bytes by the stated rules, answers against an independent computation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.special

from gpuport.specs.workloads import segments, workload
from gpuport.testing.case import Shape
from gpuport.testing.dtypes import decode

BYTES = {
    ("reduce", "int32"): 4 * 1000,
    ("reduce", "bfloat16"): 2 * 1000,
    ("scan", "int32"): (4 + 8) * 1000,
    ("scan", "float32"): (4 + 4) * 1000,
    ("argmax", "float32"): 4 * 1000,
    ("softmax", "float32"): 8 * 1000,
    ("softmax", "bfloat16"): 4 * 1000,
}


@pytest.mark.parametrize(("family", "dtype"), BYTES)
def test_bytes(family: str, dtype: str) -> None:
    assert workload(family, Shape(dtype, (1000,), "")).nbytes == BYTES[family, dtype]


def test_bytes_of_a_compaction_count_what_is_kept() -> None:
    work = workload("compact", Shape("int32", (1000,), ""))
    kept = int(np.count_nonzero(work.keep))
    assert 400 < kept < 550
    assert work.nbytes == 4 * 1000 + 1000 + 4 * kept
    itself = workload("compact", Shape("int32", (1000,), "", pattern="itself"))
    assert itself.keep is itself.x
    assert itself.nbytes == 4 * 1000 + 4 * int(np.count_nonzero(itself.x))


def test_bytes_of_segments_count_the_offsets() -> None:
    work = workload("segmented", Shape("int32", (1000,), "", pattern="equal.10"))
    assert work.nbytes == 4 * 1000 + 8 * 11 + 8 * 10


@pytest.mark.parametrize("dtype", ["int32", "float32", "bfloat16", "bool", "uint8"])
def test_sums(dtype: str) -> None:
    work = workload("reduce", Shape(dtype, (7, 100), ""))
    x = decode(work.x, dtype).astype(np.float64)
    np.testing.assert_array_equal(decode(work.expected, work.result), x.sum(axis=1))
    assert (work.rows, work.cols, work.axis) == (7, 100, 1)


@pytest.mark.parametrize("dtype", ["int32", "bfloat16"])
def test_the_first_axis(dtype: str) -> None:
    work = workload("reduce", Shape(dtype, (100, 7), "", pattern="axis0"))
    x = decode(work.x, dtype).astype(np.float64)
    np.testing.assert_array_equal(decode(work.expected, work.result), x.sum(axis=0))
    assert (work.rows, work.cols, work.axis) == (7, 100, 0)
    work = workload("argmax", Shape(dtype, (100, 7), "", pattern="axis0"))
    x = decode(work.x, dtype).astype(np.float64)
    np.testing.assert_array_equal(work.expected, np.argmax(x, axis=0))
    assert np.all(work.expected >= 93)


def test_the_first_axis_of_a_softmax() -> None:
    work = workload("softmax", Shape("float32", (100, 7), "", pattern="axis0"))
    assert (work.rows, work.cols, work.axis) == (7, 100, 0)
    np.testing.assert_allclose(work.expected, scipy.special.softmax(work.x, axis=0), rtol=1e-5)


@pytest.mark.parametrize("op", ["inclusive_scan", "exclusive_scan"])
def test_scans(op: str) -> None:
    work = workload("scan", Shape("int32", (3, 50), "", op=op))
    sums = np.cumsum(work.x, axis=1, dtype=np.int64)
    if op == "exclusive_scan":
        sums = sums - work.x
    np.testing.assert_array_equal(work.expected, sums)


def test_one_element_decides_an_argmax() -> None:
    work = workload("argmax", Shape("float32", (9, 100), ""))
    assert np.all(work.expected >= 93)
    np.testing.assert_array_equal(work.expected, np.argmax(work.x, axis=1))


@pytest.mark.parametrize("pattern", ["equal.7", "power.50", "equal.5000"])
def test_segments_cover_the_array_in_order(pattern: str) -> None:
    offsets = segments(pattern, 1000)
    assert (offsets[0], offsets[-1]) == (0, 1000)
    assert np.all(np.diff(offsets) >= 0)
    work = workload("segmented", Shape("int32", (1000,), "", pattern=pattern))
    expected = [work.x[a:b].sum() for a, b in pairwise(offsets)]
    np.testing.assert_array_equal(work.expected, expected)


def test_power_law_segments_are_uneven() -> None:
    lengths = np.diff(segments("power.1000", 1_000_000))
    assert lengths.max() > 100_000
    assert np.median(lengths) < 300


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_of_a_softmax_differ_from_their_neighbours(dtype: str) -> None:
    work = workload("softmax", Shape(dtype, (200, 33), ""))
    x = decode(work.x, dtype).astype(np.float64)
    terms = np.exp(x - x.max(axis=1, keepdims=True))
    expected = terms / terms.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(work.expected, expected, rtol=1e-6)
    same = np.all(x[1:] == x[:-1], axis=1)
    assert np.count_nonzero(same) < 20
