"""Scans, argmax, compaction and segments on a GPU, through PyTorch: streams, capture, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuport
from test_gpu import FLOATS, FORTY_MS, INTEGERS, backend, side, torch  # noqa: F401  (fixtures)

pytestmark = pytest.mark.gpu


def needs(torch: Any, nbytes: int) -> None:  # noqa: F811
    free, _ = torch.cuda.mem_get_info()
    if free < nbytes:
        pytest.skip(f"needs {nbytes / 2**30:.0f} GiB on the GPU")


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_every_dtype(torch: Any, dtype: str) -> None:  # noqa: F811
    values = torch.randint(0, 2 if dtype == "bool" else 4, (50, 70))
    x = values.to(getattr(torch, dtype)).cuda()
    for axis in (0, 1):
        sums = gpuport.inclusive_scan(x, axis=axis)
        assert sums.device == x.device
        assert torch.equal(sums.cpu().to(torch.int64), values.cumsum(axis))
        got = gpuport.argmax(x, axis=axis)
        np.testing.assert_array_equal(got.cpu().numpy(), np.argmax(values.numpy(), axis=axis))
    keep = values > 0
    assert torch.equal(gpuport.compact(x, keep.cuda()).cpu().to(torch.int64), values[keep])
    offsets = torch.tensor([0, 3, 3, 70], device="cuda", dtype=torch.int32)
    sums = gpuport.segmented_sum(x[7], offsets)
    row = values[7]
    assert sums.cpu().to(torch.int64).tolist() == [row[:3].sum(), 0, row[3:].sum()]
    if dtype in INTEGERS:
        indices = gpuport.nonzero(x)
        assert torch.equal(indices.cpu(), values.flatten().nonzero().flatten())


@pytest.mark.parametrize("variant", ["serial", "hillis_steele", "blelloch", "hierarchical",
                                     "lookback", "pipelined", "reduce_scan"])  # fmt: skip
@pytest.mark.parametrize("size", [1, 513, 4099, 262145, 5_000_011])
def test_scans(torch: Any, variant: str, size: int) -> None:  # noqa: F811
    x = torch.randint(-9, 10, (size,), dtype=torch.int32, device="cuda")
    sums = x.cumsum(0)
    assert torch.equal(gpuport.inclusive_scan(x, variant=variant), sums)
    assert torch.equal(gpuport.exclusive_scan(x, variant=variant), sums - x)


def test_the_current_stream_is_used(torch: Any, side: Any) -> None:  # noqa: F811
    x = torch.zeros(1 << 20, dtype=torch.int64, device="cuda")
    offsets = torch.tensor([0, 1 << 19, 1 << 20], device="cuda")

    def calls() -> list[Any]:
        return [
            gpuport.inclusive_scan(x),
            gpuport.argmax(x),
            gpuport.segmented_sum(x, offsets, check=False),
        ]

    calls()
    x[7:8].fill_(0)  # PyTorch's kernels too are loaded at their first launch
    side.synchronize()
    torch.cuda._sleep(FORTY_MS)
    x.fill_(1)  # still to come when the calls are made
    x[7:8].fill_(2)  # `x[7] = 2` would be a copy from the host, for which PyTorch waits
    assert not side.query()
    sums, at, halves = calls()  # tests/rules/test_gpu_every_function.py asks each one by name
    assert not side.query()
    kept = gpuport.compact(x, x)  # waits for its size
    side.synchronize()
    assert (int(sums[-1]), int(at), kept.numel()) == ((1 << 20) + 1, 7, 1 << 20)
    assert halves.tolist() == [(1 << 19) + 1, 1 << 19]


def test_capture_and_replay(torch: Any, side: Any) -> None:  # noqa: F811
    x = torch.randn(64, 3000, device="cuda")
    flat = torch.randint(-9, 10, (300_000,), device="cuda")
    offsets = torch.tensor([0, 5, 5, 200_000, 300_000], device="cuda", dtype=torch.int32)

    def calls() -> list[Any]:
        return [
            gpuport.inclusive_scan(x, axis=0),
            gpuport.exclusive_scan(flat),
            gpuport.inclusive_scan(flat, dtype="float64"),
            gpuport.argmax(x, axis=1),
            gpuport.argmin(flat),
            gpuport.segmented_max(flat, offsets, check=False),
        ]

    calls()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = calls()
        for refused in (
            lambda: gpuport.compact(flat, flat),
            lambda: gpuport.segmented_sum(flat, offsets),
            lambda: gpuport.segmented_sum(flat, [0, 9]),
        ):
            with pytest.raises(gpuport.Error, match="capture"):
                refused()
    for _ in range(3):
        x.copy_(torch.randn(64, 3000))
        flat.copy_(torch.randint(-9, 10, (300_000,)))
        graph.replay()
        eager = calls()
        side.synchronize()
        for ours, theirs in zip(captured, eager, strict=True):
            assert torch.equal(ours, theirs)


def test_integer_results_under_load_are_always_the_same(torch: Any) -> None:  # noqa: F811
    """A stale partial or a torn index shows once in thousands of runs, with the GPU busy."""
    x = torch.randint(-9, 10, (3, 200_003), dtype=torch.int32, device="cuda")
    sums, total = x.cumsum(1), x.sum(1)
    first = torch.from_numpy(np.argmax(x.cpu().numpy(), axis=1)).cuda()
    other = torch.cuda.Stream()
    busy = torch.randn(1 << 22, device="cuda")
    wrong = torch.zeros(3, dtype=torch.int64, device="cuda")
    for turn in range(10_000):
        if turn % 50 == 0:
            torch.cuda.synchronize()  # or the host would be far ahead, and the other stream idle
        with torch.cuda.stream(other):
            busy.mul_(1.0)
        wrong[0] += (gpuport.inclusive_scan(x) != sums).any()
        wrong[1] += (gpuport.sum(x, axis=1) != total).any()
        wrong[2] += (gpuport.argmax(x, axis=1) != first).any()
    assert dict(zip(("scan", "sum", "argmax"), wrong.tolist(), strict=True)) == {
        "scan": 0, "sum": 0, "argmax": 0,
    }  # fmt: skip
    keep = x > 0
    kept = x[keep]
    for turn in range(500):
        with torch.cuda.stream(other):
            busy.mul_(1.0)
        assert torch.equal(gpuport.compact(x, keep), kept), turn


def test_floats_that_repeat_do_so_while_another_stream_is_busy(torch: Any) -> None:  # noqa: F811
    x = torch.randn(1 << 20, device="cuda")
    offsets = torch.tensor([0, 9, 1 << 19, 1 << 20], device="cuda")
    other = torch.cuda.Stream()
    busy = torch.randn(1 << 22, device="cuda")
    sums = gpuport.inclusive_scan(x, deterministic=True)
    folded = gpuport.segmented_sum(x, offsets, deterministic=True)
    for _ in range(200):
        with torch.cuda.stream(other):
            busy.mul_(1.0)
        assert torch.equal(gpuport.inclusive_scan(x, deterministic=True), sums)
        assert torch.equal(gpuport.segmented_sum(x, offsets, deterministic=True), folded)


def test_a_scan_past_2_to_the_32(torch: Any) -> None:  # noqa: F811
    size = 2**32 + 1
    needs(torch, 10 * size)
    x = torch.zeros(size, dtype=torch.uint8, device="cuda")
    x[1] = x[-1] = 1
    sums = gpuport.inclusive_scan(x)
    assert [int(sums[i]) for i in (0, 1, 2**31, 2**32 - 1, -1)] == [0, 1, 1, 1, 2]


def test_scans_of_rows_past_2_to_the_32_elements(torch: Any) -> None:  # noqa: F811
    shape = (2**18 + 1, 16384)
    needs(torch, 10 * shape[0] * shape[1])
    x = torch.zeros(shape, dtype=torch.uint8, device="cuda")
    x[-1, -1] = 3
    sums = gpuport.inclusive_scan(x).view(torch.int64)
    assert int(sums[:-1].max()) == 0
    assert sums[-1, -2:].tolist() == [0, 3]


@pytest.mark.parametrize("size", [2**30 - 4096, 2**30 + 4096])
def test_bytes_past_4_gib(torch: Any, size: int) -> None:  # noqa: F811
    """Only the last element differs; its offset in bytes needs more than 32 bits."""
    needs(torch, 14 * size)
    x = torch.zeros(size, device="cuda")
    x[-1] = 5
    assert float(gpuport.sum(x)) == float(gpuport.max(x)) == 5
    assert float(gpuport.inclusive_scan(x)[-1]) == 5
    assert int(gpuport.argmax(x)) == size - 1
    assert gpuport.compact(x, x.view(torch.int32)).tolist() == [5]
    assert gpuport.segmented_sum(x, [0, size - 1, size]).tolist() == [0, 5]


def test_an_index_past_2_to_the_32(torch: Any) -> None:  # noqa: F811
    size = 2**32 + 7
    needs(torch, 3 * size)
    x = torch.zeros(size, dtype=torch.int8, device="cuda")
    x[-2] = x[-1] = 5
    assert int(gpuport.argmax(x)) == size - 2
    assert gpuport.nonzero(x).tolist() == [size - 2, size - 1]
    assert gpuport.compact(x, x).tolist() == [5, 5]


def test_segments_past_2_to_the_32(torch: Any) -> None:  # noqa: F811
    size = 2**32 + 7
    needs(torch, 2 * size)
    x = torch.zeros(size, dtype=torch.int8, device="cuda")
    x[2**31] = x[-1] = 3
    offsets = [0, 2**31, 2**31 + 1, 2**32, size]
    assert gpuport.segmented_sum(x, offsets).tolist() == [0, 3, 0, 3]
    assert gpuport.segmented_max(x, offsets).tolist() == [0, 3, 0, 3]


def test_more_rows_than_32_bits_count(torch: Any) -> None:  # noqa: F811
    """As many as 2.2e9 rows of one element, and 2^28 rows of nine."""
    rows = 2_200_000_000
    needs(torch, 20 * rows)
    x = torch.zeros(rows, 1, dtype=torch.int8, device="cuda")
    x[0] = x[2**31 - 1] = x[2**31] = x[-1] = 7
    greatest = gpuport.max(x, axis=1)
    assert [int(greatest[i]) for i in (0, 1, 2**31 - 1, 2**31, 2**31 + 1, -1)] == [7, 0, 7, 7, 0, 7]
    assert int(greatest.sum(dtype=torch.int64)) == 28
    del greatest
    assert not gpuport.argmax(x, axis=1).any()
    del x
    # A block a row: more blocks than a grid may have.
    x = torch.zeros(rows, 1, dtype=torch.int32, device="cuda")
    x[0] = x[2**31 - 1] = x[-1] = 7
    greatest = gpuport.max(x, axis=1, variant="shared_tree")
    assert [int(greatest[i]) for i in (0, 1, 2**31 - 2, 2**31 - 1, 2**31, -1)] == [7, 0, 0, 7, 0, 7]
    del x, greatest
    x = torch.zeros(2**28, 9, dtype=torch.int8, device="cuda")
    x[:, 8] = 1
    assert bool((gpuport.argmax(x, axis=1) == 8).all())
    assert bool((gpuport.sum(x, axis=1) == 1).all())


def test_softmax_of_rows_past_2_to_the_31_elements(torch: Any) -> None:  # noqa: F811
    rows, cols = 2**21 + 8, 1024
    needs(torch, 5 * rows * cols)
    looked_at = [0, 1, 2**21 - 2, 2**21 - 1, 2**21, 2**21 + 1, rows - 1]
    values = torch.randn(len(looked_at), cols, dtype=torch.float16, device="cuda")
    x = torch.full((rows, cols), -1000, dtype=torch.float16, device="cuda")
    x[looked_at] = values
    expected = torch.softmax(values.double(), 1)
    for variant in ("warp_row", "online_shuffle"):
        got = gpuport.softmax(x, variant=variant)[looked_at].double()
        torch.testing.assert_close(got, expected, rtol=2e-3, atol=2e-3)
    assert torch.equal(gpuport.argmax(x, axis=1)[looked_at], values.argmax(1))
    total = gpuport.sum(x, axis=1, dtype="float64")[looked_at]
    torch.testing.assert_close(total, values.double().sum(1), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("length", [2**31 - 1, 2**31 + 7])
def test_a_row_of_one_broadcast_element(torch: Any, length: int) -> None:  # noqa: F811
    """No memory, but every index."""
    x = torch.ones(1, dtype=torch.float16, device="cuda").expand(length)
    assert float(gpuport.sum(x, dtype="float64")) == length
    assert int(gpuport.argmax(x)) == 0
    log = gpuport.logsumexp(x, variant="split_row")
    assert float(log) == pytest.approx(1 + np.log(length), rel=2e-3)
    bits = torch.ones(1, dtype=torch.int8, device="cuda").expand(length)
    assert gpuport.segmented_sum(bits, [0, 1, length]).tolist() == [1, length - 1]


def test_more_segments_than_a_grid_dimension(torch: Any) -> None:  # noqa: F811
    x = torch.randint(-9, 10, (300_001,), dtype=torch.int32, device="cuda")
    offsets = torch.arange(300_002, device="cuda")
    assert torch.equal(gpuport.segmented_sum(x, offsets), x.long())
    many = torch.zeros(5_000_001, dtype=torch.int64, device="cuda")
    many[-1] = x.numel()  # five million empty segments before one that holds everything
    sums = gpuport.segmented_sum(x, many)
    assert int(sums[-1]) == int(x.sum())
    assert not sums[:-1].any()


def test_the_current_device_is_left_alone(torch: Any) -> None:  # noqa: F811
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU only")
    x = torch.ones(1000, dtype=torch.int32, device="cuda:1")
    for got in (gpuport.inclusive_scan(x), gpuport.argmax(x), gpuport.compact(x, x),
                gpuport.segmented_sum(x, [0, 10, 1000])):  # fmt: skip
        assert got.device == x.device
        assert torch.cuda.current_device() == 0
    with pytest.raises(ValueError, match="keep is on cuda device 0"):
        gpuport.compact(x, torch.ones(1000, dtype=torch.int32, device="cuda:0"))
