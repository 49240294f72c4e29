"""Every public function on a GPU: a delayed producer, what waits, graphs, the second device."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gpuport
from functions import FUNCTIONS, Function, check, operand_beside, whole_numbers
from test_gpu import FORTY_MS, backend, cupy, side, torch  # noqa: F401  (fixtures)

pytestmark = pytest.mark.gpu

every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
READS_A_SIZE = (
    "compact",
    "nonzero",
)  # what has to know it on the host waits, and cannot be captured
DTYPE = {"nonzero": "int32"}


class Prepared:
    """A function with operands on the device; `x` is filled by `produce`."""

    def __init__(self, torch: Any, function: Function, device: str = "cuda") -> None:  # noqa: F811
        shape = (50_000,) if function.kind == "segments" else (40, 3000)
        self.function = function
        self.values = whole_numbers(shape, DTYPE.get(function.name, "float32"), seed=1)
        self.beside = operand_beside(function, shape, seed=2)
        self.source = torch.from_numpy(self.values).to(device)
        self.x = torch.zeros_like(self.source)
        self.next_to = None if self.beside is None else torch.from_numpy(self.beside).to(device)
        self.more = {"check": False} if function.kind == "segments" else {}
        self.axis = 1 if function.kind == "axis" else None

    def produce(self) -> None:
        self.x.copy_(self.source)

    def call(self, **on: Any) -> Any:
        return self.function.call(self.x, self.next_to, self.axis, **self.more, **on)

    def check(self, got: Any) -> None:
        got = tuple(part.cpu().numpy() for part in (got if isinstance(got, tuple) else (got,)))
        expected = self.function.expected(self.values, self.beside, self.axis)
        check(self.function, got if len(got) > 1 else got[0], expected)


def parts(got: Any) -> tuple[Any, ...]:
    return got if isinstance(got, tuple) else (got,)


@every_function
def test_the_producer_is_late(torch: Any, side: Any, function: Function) -> None:  # noqa: F811
    """x is written on the side stream after a delay; on any other stream it would be zeros."""
    prepared = Prepared(torch, function)
    side.synchronize()
    torch.cuda._sleep(FORTY_MS)
    prepared.produce()
    got = prepared.call()
    side.synchronize()
    prepared.check(got)

    prepared.x.zero_()
    side.synchronize()
    torch.cuda._sleep(FORTY_MS)
    prepared.produce()
    with torch.cuda.stream(torch.cuda.Stream()):  # another one is current
        got = prepared.call(stream=side)
    side.synchronize()
    prepared.check(got)


@contextmanager
def without_collection() -> Iterator[None]:
    """No pause of Python's own while the clock runs."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def test_what_does_not_wait(torch: Any, side: Any) -> None:  # noqa: F811
    """Behind a delay, each call comes back while the delay still runs; the error names those that
    do not, and how long they took."""
    calls: dict[str, Callable[[], Any]] = {}
    kept = []
    for function in FUNCTIONS:
        if function.name in READS_A_SIZE:
            continue
        prepared = Prepared(torch, function)
        prepared.produce()
        kept.append(prepared)
        calls[function.name] = prepared.call
        for kernel in gpuport.kernels():
            family, _, variant = kernel.name.partition(".")
            if family == "segmented":
                continue  # its operations have the names of reductions
            takes = prepared.values.dtype.name in kernel.dtypes
            if function.kind == "axis" and function.name in kernel.operations and takes:
                calls[f"{function.name}, {variant}"] = lambda p=prepared, v=variant: p.call(
                    variant=v
                )
        if function.kind == "axis" and function.beside is None:
            view = prepared.x.T  # packed first, where its rows are not what is read
            calls[f"{function.name}, transposed"] = lambda f=function, v=view: f.call(v, None, 0)
    for name in ("sum", "inclusive_scan", "softmax"):
        x = torch.ones(40, 3000, device="cuda")
        out = torch.empty(x.shape if name != "sum" else (40,), device="cuda")
        calls[f"{name}, out="] = lambda n=name, x=x, o=out: getattr(gpuport, n)(x, axis=1, out=o)
    # Twice each: kernels are loaded at their first launch and memory comes at the first call, and
    # both may wait for the device.
    for call in (*calls.values(), *calls.values()):
        call()
    waited = {}
    with without_collection():
        for name, call in calls.items():
            side.synchronize()
            torch.cuda._sleep(FORTY_MS)
            began = time.perf_counter()
            result = call()
            took = time.perf_counter() - began
            if side.query():
                waited[name] = f"came back after {took * 1e3:.1f} ms"
            del result
    assert waited == {}


def test_errors_do_not_wait(torch: Any, side: Any) -> None:  # noqa: F811
    x = torch.ones(40, 3000, device="cuda")
    side.synchronize()
    torch.cuda._sleep(5 * FORTY_MS)
    for function in FUNCTIONS:
        if function.kind == "axis":
            with pytest.raises(ValueError, match="axis 7 is out of bounds"):
                function.call(x, None, 7)
    with pytest.raises(TypeError, match="keep must be boolean or integers"):
        gpuport.compact(x, x)
    with pytest.raises(ValueError, match="x must have one dimension"):
        gpuport.segmented_sum(x, [0, 1])
    assert not side.query()


@every_function
def test_capture_with_pytorch(torch: Any, side: Any, function: Function) -> None:  # noqa: F811
    """Replays see new inputs, and eager calls between them share no temporary storage."""
    prepared = Prepared(torch, function)
    prepared.produce()
    prepared.call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    if function.name in READS_A_SIZE:
        with torch.cuda.graph(graph), pytest.raises(gpuport.Error, match="under capture"):
            prepared.call()
        return
    with torch.cuda.graph(graph):
        captured = prepared.call()
    for turn in range(3):
        prepared.x.copy_(prepared.source.roll(turn + 1, 0))
        graph.replay()
        eager = prepared.call()
        graph.replay()
        side.synchronize()
        for ours, theirs in zip(parts(captured), parts(eager), strict=True):
            assert torch.equal(ours, theirs), turn
    prepared.produce()
    graph.replay()
    side.synchronize()
    prepared.check(captured)


def test_what_must_know_a_value_is_refused_under_capture(torch: Any, side: Any) -> None:  # noqa: F811
    x = torch.ones(3000, device="cuda")
    offsets = torch.tensor([0, 9, 3000], device="cuda")
    refused: list[Callable[[], Any]] = [
        lambda: gpuport.segmented_sum(x, offsets),
        lambda: gpuport.segmented_sum(x, [0, 3000], check=False),
        *(
            lambda n=name: getattr(gpuport, n)(x, nonfinite="raise")
            for name in ("sum", "argmax", "inclusive_scan", "softmax", "logsumexp")
        ),
    ]
    graph = torch.cuda.CUDAGraph()
    side.synchronize()
    with torch.cuda.graph(graph):
        for call in refused:
            with pytest.raises(gpuport.Error, match="under capture it cannot"):
                call()
        total = gpuport.sum(x)
    graph.replay()
    side.synchronize()
    assert total.item() == 3000


@every_function
def test_capture_with_cupy(cupy: Any, function: Function) -> None:  # noqa: F811
    shape = (50_000,) if function.kind == "segments" else (40, 3000)
    values = whole_numbers(shape, DTYPE.get(function.name, "float32"), seed=1)
    beside = operand_beside(function, shape, seed=2)
    x = cupy.asarray(values)
    next_to = None if beside is None else cupy.asarray(beside)
    more = {"check": False} if function.kind == "segments" else {}
    axis = 1 if function.kind == "axis" else None
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        function.call(x, next_to, axis, **more)
        stream.synchronize()
        stream.begin_capture()
        try:
            if function.name in READS_A_SIZE:
                with pytest.raises(gpuport.Error, match="under capture"):
                    function.call(x, next_to, axis)
                gpuport.sum(x)  # a graph of nothing is no graph
            captured = None if function.name in READS_A_SIZE else function.call(
                x, next_to, axis, **more)  # fmt: skip
        finally:
            graph = stream.end_capture()
        if captured is None:
            return
        x[...] = cupy.asarray(np.roll(values, 1, axis=0))
        graph.launch(stream)
        first = [part.get(stream=stream) for part in parts(captured)]
        x[...] = cupy.asarray(values)
        graph.launch(stream)
        second = [part.get(stream=stream) for part in parts(captured)]
        stream.synchronize()
    for got, shown in ((first, np.roll(values, 1, axis=0)), (second, values)):
        expected = function.expected(shown, beside, axis)
        check(function, tuple(got) if len(got) > 1 else got[0], expected)


@every_function
def test_the_second_device(torch: Any, function: Function) -> None:  # noqa: F811
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU only")
    prepared = Prepared(torch, function, "cuda:1")
    prepared.produce()
    assert torch.cuda.current_device() == 0
    got = prepared.call()
    assert torch.cuda.current_device() == 0
    for part in parts(got):
        assert part.device == prepared.x.device
    prepared.check(got)
    if prepared.next_to is not None:
        prepared.next_to = prepared.next_to.to("cuda:0")
        name = {"mask": "mask", "flags": "keep", "offsets": "offsets"}[function.beside or ""]
        with pytest.raises(ValueError, match=f"{name} is on .* device 0, x on .* device 1"):
            prepared.call()
