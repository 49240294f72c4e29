"""Kernels on a GPU that begin while the one ahead of them ends, and the storage of captured calls.

Each consumer reads what the call just before it writes, with nothing between them that waits; the
answers are those of the same calls one at a time.
"""

# ruff: noqa: F811  (fixtures)

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

import gpuport
from test_gpu import FORTY_MS, backend, side, torch  # noqa: F401  (fixtures)

pytestmark = pytest.mark.gpu

SIZE = 1 << 23  # a row of so many is too long to stream through the chip
ROUNDS = 6

# By the kernel that each of them comes to on a GPU.
CONSUMERS: dict[str, Callable[[Any], Any]] = {
    "warp_row": lambda x: gpuport.softmax(x.view(-1, 128)),
    "warp_row, edges": lambda x: gpuport.log_softmax(x[: SIZE // 256 * 255].view(-1, 255)[:, :201]),
    "warp_row, elements": lambda x: gpuport.softmax(x.view(-1, 64), mask=MASK),
    "online_registers, few warps": lambda x: gpuport.softmax(x.view(-1, 1024)),
    "online_registers, few warps that prefetch": lambda x: gpuport.softmax(x.view(-1, 2048)),
    "online_registers": lambda x: gpuport.softmax(x.view(-1, 8192)),
    "online_registers, 16 bits": lambda x: gpuport.softmax(x.view(-1, 4096).view(dtype=BF16)),
    "split_row, stream": lambda x: gpuport.softmax(x.view(-1, 1 << 18)),
    "split_row, resident": lambda x: gpuport.softmax(x),
    "split_row, two launches": lambda x: gpuport.softmax(x.view(2, -1)[:, ::2]),
    "columns": lambda x: gpuport.softmax(x.view(512, -1), axis=0),
    "columns, two launches": lambda x: gpuport.softmax(x.view(-1, 32), axis=0),
    "fold_rows": lambda x: gpuport.sum(x),
    "fold_rows, a block a row": lambda x: gpuport.max(x.view(-1, 4096), axis=1),
    "fold_short_rows": lambda x: gpuport.sum(x.view(-1, 64), axis=1),
    "fold_columns": lambda x: gpuport.sum(x.view(64, -1), axis=0),
    "fold_columns, two rows a lane": lambda x: gpuport.sum(x.view(BF16).view(256, -1), axis=0),
    "fold_few": lambda x: gpuport.sum(x.view(4, -1), axis=0),
    "columns_resident": lambda x: gpuport.softmax(x.view(4, -1), axis=0),
    "fold_columns, parts": lambda x: gpuport.sum(x.view(-1, 32), axis=0),
    "argmax": lambda x: gpuport.argmax(x),
    "lookback": lambda x: gpuport.inclusive_scan(x[: 1 << 20]),
    "pipelined": lambda x: gpuport.inclusive_scan(x),
    "short_rows": lambda x: gpuport.inclusive_scan(x.view(-1, 32), axis=1),
    "merge_path": lambda x: gpuport.segmented_sum(x, SEGMENTS, check=False),
}
WAITING: dict[str, Callable[[Any], Any]] = {  # for the size of their result
    "compact, pipelined": lambda x: gpuport.compact(x.view(INT32), x.view(INT32)),
    "compact, two_pass": lambda x: gpuport.compact(
        x[: 1 << 17].view(INT32), x[: 1 << 17].view(INT32)
    ),
    "nonzero": lambda x: gpuport.nonzero(x.view(INT32)),
}
BF16: Any = None
INT32: Any = None
MASK: Any = None
SEGMENTS: Any = None


@pytest.fixture
def inputs(torch: Any) -> list[Any]:
    global BF16, INT32, MASK, SEGMENTS
    BF16, INT32 = torch.bfloat16, torch.int32
    SEGMENTS = torch.arange(0, SIZE + 1, SIZE // 64, device="cuda")
    MASK = torch.arange(64, device="cuda") % 3 > 0
    torch.manual_seed(5)
    return [torch.randn(SIZE // 4096, 4096, device="cuda") * (n + 1) for n in range(ROUNDS)]


def same(torch: Any, ours: Any, theirs: Any) -> bool:
    """Bit for bit, NaN included: 32-bit floats stand in for pairs of bfloat16."""
    words = [t.contiguous().reshape(-1).view(torch.uint8) for t in (ours, theirs)]
    return bool(torch.equal(*words))


def one_at_a_time(torch: Any, inputs: list[Any], consume: Callable[[Any], Any]) -> list[Any]:
    results = []
    for values in inputs:
        x = gpuport.softmax(values)
        torch.cuda.synchronize()
        results.append(consume(x.view(-1)))
        torch.cuda.synchronize()
    return results


@pytest.mark.parametrize("name", [*CONSUMERS, *WAITING])
def test_reads_what_the_call_before_wrote(
    torch: Any, side: Any, inputs: list[Any], name: str
) -> None:
    consume = {**CONSUMERS, **WAITING}[name]
    expected = one_at_a_time(torch, inputs, consume)
    x = torch.empty_like(inputs[0])
    results = []
    for values in inputs:
        torch.cuda._sleep(FORTY_MS // 20)  # so that both are queued before the first begins
        gpuport.softmax(values, out=x)
        results.append(consume(x.view(-1)))
    side.synchronize()
    for ours, theirs in zip(results, expected, strict=True):
        assert same(torch, ours, theirs)


@pytest.mark.parametrize("name", list(CONSUMERS))
def test_in_a_graph(torch: Any, side: Any, inputs: list[Any], name: str) -> None:
    """Replayed as often as it takes for the storage to hold what older replays left."""
    consume = CONSUMERS[name]
    expected = one_at_a_time(torch, inputs, consume)
    x = torch.empty_like(inputs[0])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = []
        for values in inputs:
            gpuport.softmax(values, out=x)
            results.append(consume(x.view(-1)))
    for _ in range(4):
        for result in results:
            result.zero_()
        graph.replay()
        torch.cuda.synchronize()
        for ours, theirs in zip(results, expected, strict=True):
            assert same(torch, ours, theirs)


def test_a_chain_of_everything(torch: Any, side: Any, inputs: list[Any]) -> None:
    """Sums, softmax and scans that write to the same memory in turns."""
    a, b = torch.empty_like(inputs[0]), torch.empty_like(inputs[0])
    rows = torch.empty(SIZE // 4096, device="cuda")
    wide = (1, 1 << 18)

    def chain(wait: Callable[[], None]) -> list[Any]:
        kept = []
        for values in inputs:
            for call in (
                lambda values=values: gpuport.softmax(values, out=a),
                lambda: gpuport.inclusive_scan(a, axis=1, out=b),
                lambda: gpuport.sum(b, axis=1, out=rows),
                lambda: gpuport.softmax(b.view(-1, *wide), out=a.view(-1, *wide)),
                lambda: gpuport.softmax(a.view(-1, 256), out=b.view(-1, 256)),
                lambda: kept.append(gpuport.sum(b)),
                lambda: kept.append(gpuport.sum(rows)),
                lambda: kept.append(gpuport.argmax(a)),
            ):
                call()
                wait()
        return kept

    expected = chain(torch.cuda.synchronize)
    results = chain(lambda: None)
    side.synchronize()
    for ours, theirs in zip(results, expected, strict=True):
        assert same(torch, ours, theirs)


def test_two_graphs_at_once(torch: Any, side: Any, inputs: list[Any]) -> None:
    """Captured on one stream, replayed on two: each has storage of its own."""
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    x = torch.zeros_like(inputs[0])
    torch.cuda.synchronize()
    graphs, results = [], []
    for _ in streams:
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1], stream=side):
            results.append([gpuport.sum(x), gpuport.inclusive_scan(x.view(-1))])
    for values in inputs:
        x.copy_(values)
        expected = [gpuport.sum(x), gpuport.inclusive_scan(x.view(-1))]
        torch.cuda.synchronize()
        for _ in range(10):
            for stream, graph in zip(streams, graphs, strict=True):
                with torch.cuda.stream(stream):
                    graph.replay()
        torch.cuda.synchronize()
        for ours in results:
            assert all(same(torch, *pair) for pair in zip(ours, expected, strict=True))


def test_two_streams_of_one_capture(torch: Any, side: Any, inputs: list[Any]) -> None:
    """Branches of a graph may run at the same time: each has storage of its own."""
    other = torch.cuda.Stream()
    x = torch.empty_like(inputs[0])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        other.wait_stream(side)
        results = []
        for stream in (side, other):
            with torch.cuda.stream(stream):
                results += [gpuport.sum(x), gpuport.inclusive_scan(x.view(-1)), gpuport.argmax(x)]
        side.wait_stream(other)
    for values in inputs:
        x.copy_(values)
        graph.replay()
        torch.cuda.synchronize()
        expected = [gpuport.sum(x), gpuport.inclusive_scan(x.view(-1)), gpuport.argmax(x)] * 2
        assert all(same(torch, *pair) for pair in zip(results, expected, strict=True))


def used_of_pool() -> int:
    """Bytes that this process has of the device's default pool, where temporary storage comes from.

    What is free on the device would count other processes."""
    driver = ctypes.CDLL("libcuda.so.1")
    pool, used = ctypes.c_void_p(), ctypes.c_uint64()
    used_mem_current = 7  # CU_MEMPOOL_ATTR_USED_MEM_CURRENT
    assert driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0) == 0
    assert driver.cuMemPoolGetAttribute(pool, used_mem_current, ctypes.byref(used)) == 0
    assert used.value > 0
    return used.value


def test_storage_goes_back_with_its_graph(torch: Any, side: Any) -> None:
    x = torch.ones(1 << 20, device="cuda")
    out, scanned = torch.empty((), device="cuda"), torch.empty_like(x)

    def capture_and_replay() -> int:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gpuport.sum(x, out=out)
            gpuport.inclusive_scan(x, out=scanned)
        graph.replay()
        torch.cuda.synchronize()
        assert (out.item(), scanned[-1].item()) == (1 << 20, 1 << 20)
        del graph
        torch.cuda.synchronize()
        return used_of_pool()

    capture_and_replay()
    used = [capture_and_replay() for _ in range(100)]
    # The driver tells a little after a graph is gone, so now and then the next one gets storage of
    # its own, 112 KiB. Storage that never came back would be 11 MiB.
    assert max(used) - used[0] <= 1 << 20


def test_more_storage_than_at_first(torch: Any, side: Any) -> None:
    """Later calls of a capture may need more; earlier ones keep what they have."""
    small, large = torch.ones(1 << 18, device="cuda"), torch.ones(1 << 26, device="cuda")
    calls = [lambda: gpuport.sum(small), lambda: gpuport.sum(large),
             lambda: gpuport.inclusive_scan(small, variant="lookback")[-1],
             lambda: gpuport.inclusive_scan(large, variant="lookback")[-1],
             lambda: gpuport.softmax(large.view(1, -1))[0, 0]]  # fmt: skip
    expected = [call().item() for call in calls]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = [call() for call in [*calls, *calls]]
    for _ in range(3):
        graph.replay()
        torch.cuda.synchronize()
        assert [result.item() for result in results] == expected * 2
