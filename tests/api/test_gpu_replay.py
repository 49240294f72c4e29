"""Repeated calls on a GPU: on the stream that is current then, and on the arrays' device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import _launcher, _replay
from test_gpu import FORTY_MS, backend, cupy, side, torch  # noqa: F401  (fixtures)

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def no_plans() -> Iterator[None]:
    _replay._plans.clear()
    yield
    _replay._plans.clear()


@pytest.fixture(params=["functions", "table", "attributes"])
def way(request: pytest.FixtureRequest, torch: Any) -> Iterator[None]:  # noqa: F811
    """How tensors are read: see test_replay_torch.py."""
    table = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if request.param != "attributes" and table is None:
        pytest.skip("this PyTorch has no table of C functions")
    _launcher.replay_torch(
        torch.Tensor,
        None if request.param == "attributes" else table,
        torch._C._cuda_getCurrentRawStream,
        torch._C._increment_version,
        _replay._samples(torch) if request.param == "functions" else None,
    )
    yield
    _replay._meet(torch.Tensor)


def test_tensors(way: None, torch: Any) -> None:  # noqa: F811
    total, rows = torch.empty((), device="cuda"), torch.empty(4, 96, device="cuda")
    for n in range(3):
        x = torch.full((4, 96), float(n + 1), device="cuda")
        assert gpuport.sum(x, out=total) is total
        assert total.item() == 384 * (n + 1)
        gpuport.inclusive_scan(x, axis=1, out=rows)
        assert torch.equal(rows, x.cumsum(1))
        assert gpuport.argmax(x, axis=1).tolist() == [0] * 4
        gpuport.inclusive_scan(x, axis=1, out=x)
        assert torch.equal(x, rows)
    assert _replay._plans.filled() == [True] * 4
    with pytest.raises(ValueError, match="on"):
        gpuport.sum(x, out=total.cpu())


def test_the_stream_is_that_of_each_call(way: None, torch: Any, side: Any) -> None:  # noqa: F811
    _replay._plans.clear()  # of calls that the fixture made
    x, out = torch.zeros(1 << 20, device="cuda"), torch.empty(1 << 20, device="cuda")
    with torch.cuda.stream(torch.cuda.default_stream()):
        for _ in range(2):
            gpuport.inclusive_scan(x, out=out)
    torch.cuda.synchronize()
    torch.cuda._sleep(FORTY_MS)
    x.fill_(1)  # still to come when the call is made
    gpuport.inclusive_scan(x, out=out)
    assert not side.query()
    side.synchronize()
    assert out[-1].item() == 1 << 20
    assert _replay._plans.filled() == [True]


def test_a_captured_call(way: None, torch: Any) -> None:  # noqa: F811
    x, out = torch.ones(1 << 20, device="cuda"), torch.empty((), device="cuda")
    for _ in range(2):
        gpuport.sum(x, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gpuport.sum(x, out=out)
    for value in (2.0, 3.0):
        x.fill_(value)
        graph.replay()
        assert out.item() == value * (1 << 20)
    assert _replay._plans.filled() == [True]


@pytest.mark.parametrize("small", ["x", "out"])
def test_memory_that_became_too_small(way: None, torch: Any, small: str) -> None:  # noqa: F811
    tensors = {name: torch.ones(4096, device="cuda") for name in ("x", "out")}
    for _ in range(2):
        gpuport.inclusive_scan(**tensors)
    tensors[small].untyped_storage().resize_(64)
    with pytest.raises(ValueError, match=f"{small} needs 16384 bytes of storage"):
        gpuport.inclusive_scan(**tensors)


def test_another_device_than_the_current_one(way: None, torch: Any) -> None:  # noqa: F811
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    for device in (0, 1):
        x = torch.ones(4096, device=f"cuda:{device}")
        out = torch.empty((), device=f"cuda:{device}")
        for _ in range(2):
            gpuport.sum(x, out=out)
            assert torch.cuda.current_device() == 0
            assert out.item() == gpuport.sum(x).item() == 4096
    assert _replay._plans.filled() == [True] * 4


def test_device_arrays(backend: str) -> None:  # noqa: F811
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    out = gpuport.DeviceArray.empty((4,), "float32", backend=backend)
    for n in range(3):
        x = gpuport.DeviceArray.from_numpy(host + n, backend=backend)
        assert gpuport.sum(x, axis=1, out=out) is out
        np.testing.assert_array_equal(out.to_numpy(), (host + n).sum(1))
        np.testing.assert_array_equal(gpuport.sum(x, axis=1).to_numpy(), (host + n).sum(1))
    assert _replay._plans.filled() == [True, True]


def test_cupy_arrays(cupy: Any) -> None:  # noqa: F811
    total, rows = cupy.empty((), np.float32), cupy.empty((4, 96), np.float32)
    for n in range(3):
        x = cupy.full((4, 96), n + 1, np.float32)
        assert gpuport.sum(x, out=total) is total
        assert total.item() == 384 * (n + 1)
        gpuport.inclusive_scan(x, axis=1, out=rows)
        assert (rows == cupy.cumsum(x, axis=1)).all()
        assert gpuport.sum(x[:, ::-1]).item() == 384 * (n + 1)
    assert sorted(_replay._plans.filled()) == [False, True, True]  # a reversed matrix is copied


def test_cupy_streams(cupy: Any, torch: Any) -> None:  # noqa: F811
    x, out = cupy.zeros(1 << 20, np.float32), cupy.empty((), np.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    for current in (cupy.cuda.Stream.null, stream):
        with current:
            x.fill(2)
            gpuport.sum(x, out=out)
    cupy.cuda.Device().synchronize()
    with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
        torch.cuda._sleep(FORTY_MS)
    with stream:
        x.fill(1)
        gpuport.sum(x, out=out)
        assert not stream.done
    stream.synchronize()
    assert out.item() == 1 << 20
    assert _replay._plans.filled() == [True]
