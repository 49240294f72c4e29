"""What only a GPU shows: streams, capture, devices. Runs on NVIDIA and on AMD, through PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import DeviceArray

pytestmark = pytest.mark.gpu

FORTY_MS = 80_000_000  # clock cycles, so at some 2 GHz


def backend_or_skip(torch: Any) -> str:
    name = "hip" if torch.version.hip else "cuda"
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    record = next(record for record in gpuport.backends() if record.name == name)
    if not record.available:
        pytest.skip(f"backend {name}: {record.reason}")
    return name


@pytest.fixture
def torch() -> Any:
    module = pytest.importorskip("torch", reason="PyTorch is not installed")
    backend_or_skip(module)
    return module


@pytest.fixture
def backend(torch: Any) -> str:
    return backend_or_skip(torch)


@pytest.fixture
def side(torch: Any) -> Iterator[Any]:
    """A stream that does not wait for the default one, current for the length of a test."""
    ones = torch.ones(1 << 20, device="cuda")
    gpuport.sum(ones)  # load the kernels now: loading waits for the device
    gpuport.softmax(ones.reshape(1024, 1024))
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        yield stream
    torch.cuda.synchronize()


FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_reductions(torch: Any, dtype: str) -> None:
    values = torch.randint(0, 2 if dtype == "bool" else 10, (50, 700))
    x = values.to(getattr(torch, dtype)).cuda()
    for axis in (None, 0, 1):
        total = gpuport.sum(x, axis=axis, dtype="float64")
        assert total.device == x.device
        expected = values.double().sum() if axis is None else values.double().sum(axis)
        assert torch.equal(total.cpu(), expected)
        extreme = gpuport.max(x, axis=axis)
        assert extreme.dtype == x.dtype
        expected = values.amax() if axis is None else values.amax(axis)
        assert torch.equal(extreme.cpu().to(torch.int64), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5, 70), (3, 5000), (70_000, 3), (4, 40, 33)])
def test_softmax(torch: Any, dtype: str, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape).to(getattr(torch, dtype))
    tolerance = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-14}[dtype]
    for axis in range(len(shape)):
        got = gpuport.softmax(x.cuda(), axis=axis)
        assert got.is_contiguous()
        expected = torch.softmax(x.double(), axis)
        torch.testing.assert_close(got.cpu().double(), expected, rtol=tolerance, atol=tolerance)


def test_layouts(torch: Any) -> None:
    x = torch.arange(120, dtype=torch.int32, device="cuda").reshape(4, 5, 6)
    for view in (x.permute(2, 0, 1), x[:, ::2], x[:1].expand(7, 5, 6), x[..., 1:4], x[:0]):
        for axis in range(3):
            assert gpuport.sum(view, axis=axis).tolist() == view.sum(axis).tolist()
    out = torch.empty(6, 4, dtype=torch.int64, device="cuda").T
    assert gpuport.sum(x, axis=1, out=out) is out
    assert out.tolist() == x.sum(1).tolist()


def test_the_current_stream_is_used(torch: Any, side: Any) -> None:
    x = torch.zeros(1 << 20, device="cuda")
    torch.cuda._sleep(FORTY_MS)
    x.fill_(1)  # still to come when the call is made
    total = gpuport.sum(x)
    rows = gpuport.softmax(x.reshape(1024, 1024).T)
    side.synchronize()
    assert total.item() == 1 << 20
    assert (rows == 1 / 1024).all()


@pytest.mark.parametrize("form", ["stream", "handle", "protocol"])
def test_a_stream_given_by_name(torch: Any, side: Any, form: str) -> None:
    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, side.cuda_stream)

    stream = {"stream": side, "handle": side.cuda_stream, "protocol": Protocol()}[form]
    x = torch.zeros(1 << 20, device="cuda")
    torch.cuda._sleep(FORTY_MS)
    x.fill_(1)
    with torch.cuda.stream(torch.cuda.Stream()):  # another one is current
        total = gpuport.sum(x, stream=stream)
    side.synchronize()
    assert total.item() == 1 << 20


def test_calls_return_before_the_work_is_done(torch: Any, side: Any) -> None:
    x = torch.ones(1024, 1024, device="cuda")
    out = torch.empty(1024, 2048, device="cuda")[:, ::2]

    def calls() -> None:
        gpuport.sum(x)
        gpuport.softmax(x)
        gpuport.softmax(x.T, out=out)
        gpuport.max(x, axis=0)

    calls()  # a kernel that is loaded at its first launch may wait for the device
    side.synchronize()
    torch.cuda._sleep(5 * FORTY_MS)
    calls()
    assert not side.query()
    with pytest.raises(TypeError):
        gpuport.sum(x, out=torch.empty((), dtype=torch.int8, device="cuda"))
    assert not side.query()


def test_capture_and_replay(torch: Any, side: Any) -> None:
    x = torch.randn(64, 3, 300, device="cuda")
    mask = torch.rand(300, device="cuda") > 0.5

    def calls() -> list[Any]:
        return [
            gpuport.sum(x),
            gpuport.sum(x, axis=0),
            gpuport.softmax(x, axis=1, mask=None),
            gpuport.softmax(x, mask=mask),
            gpuport.logsumexp(x.permute(2, 1, 0), axis=0),
        ]

    calls()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = calls()
        with pytest.raises(gpuport.Error, match="capture"):
            gpuport.sum(x, nonfinite="raise")
    for _ in range(3):
        x.copy_(torch.randn(64, 3, 300))
        graph.replay()
        eager = calls()  # between replays: shares no temporary storage with them
        side.synchronize()
        for ours, theirs in zip(captured, eager, strict=True):
            assert torch.equal(ours, theirs)


def test_the_current_device_is_left_alone(torch: Any) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU only")
    x = torch.ones(1000, device="cuda:1")
    assert torch.cuda.current_device() == 0
    total = gpuport.sum(x)
    assert torch.cuda.current_device() == 0
    assert total.device == x.device
    assert total.item() == 1000
    with pytest.raises(ValueError, match="device 0"):
        gpuport.sum(x, out=torch.zeros((), device="cuda:0"))


def test_places_do_not_mix(torch: Any) -> None:
    x = torch.ones(10, device="cuda")
    with pytest.raises(ValueError, match="out is on the host"):
        gpuport.sum(x, out=torch.zeros(()))
    with pytest.raises(ValueError, match="copy it to the host"):
        gpuport.sum(x, backend="cpu")
    with pytest.raises(ValueError, match="lanes"):
        gpuport.sum(x, warp_size=16)


def test_nonfinite_waits_and_raises(torch: Any, side: Any) -> None:
    x = torch.zeros(300, 400, device="cuda")
    torch.cuda._sleep(FORTY_MS)
    x[123, 45] = float("nan")
    with pytest.raises(ValueError, match=r"\(123, 45\)"):
        gpuport.softmax(x, nonfinite="raise")
    keep = torch.ones(300, 400, dtype=torch.bool, device="cuda")
    keep[123, 45] = False
    assert torch.isfinite(gpuport.softmax(x, mask=keep, nonfinite="raise")).all()


@pytest.mark.parametrize("size", [2**31 - 1, 2**31 + 4099, 2**32 + 7])
def test_more_elements_than_32_bits_count(torch: Any, size: int) -> None:
    free, _ = torch.cuda.mem_get_info()
    if free < 2 * size:
        pytest.skip("too little memory on the GPU")
    x = torch.zeros(size, dtype=torch.int8, device="cuda")
    x[-1] = 5
    x[1] = -3
    assert gpuport.sum(x).item() == 2
    assert gpuport.max(x).item() == 5
    assert gpuport.min(x).item() == -3


def test_numpy_there_and_back(backend: str) -> None:
    x = np.random.default_rng(0).normal(size=(60, 700)).astype(np.float32)
    for view in (x, x.T, x[::-1, ::3]):
        got = gpuport.softmax(view, backend=backend)
        assert isinstance(got, np.ndarray)
        np.testing.assert_allclose(got, gpuport.softmax(view, backend="cpu"), rtol=2e-6, atol=1e-9)


def test_device_arrays(torch: Any, backend: str) -> None:
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = DeviceArray.from_numpy(values, backend=backend)
    got = gpuport.sum(x, axis=1)
    assert isinstance(got, DeviceArray)
    np.testing.assert_array_equal(got.to_numpy(), values.sum(axis=1))
    seen = torch.as_tensor(x, device="cuda")
    assert seen.data_ptr() == x.view.address
    assert torch.equal(gpuport.sum(seen, axis=1).cpu(), torch.from_numpy(values.sum(axis=1)))


# CuPy


@pytest.fixture
def cupy(backend: str) -> Any:
    return pytest.importorskip("cupy", reason="CuPy is not installed")


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint32", "float16", "float64"])
def test_cupy(cupy: Any, dtype: str) -> None:
    values = np.random.default_rng(0).integers(0, 2, (30, 40)).astype(dtype)
    x = cupy.asarray(values)
    for view, host in ((x, values), (x.T, values.T), (x[::-1, ::2], values[::-1, ::2])):
        for axis in (None, 0, 1):
            total = gpuport.sum(view, axis=axis)
            assert isinstance(total, cupy.ndarray)
            np.testing.assert_array_equal(total.get(), gpuport.sum(host, axis=axis), strict=True)
    out = cupy.empty((40, 30), order="F")
    assert gpuport.softmax(x.T.astype(float), out=out) is out
    np.testing.assert_allclose(out.get(), gpuport.softmax(values.T.astype(float)), rtol=1e-14)


def test_cupy_streams(cupy: Any, torch: Any) -> None:
    x = cupy.zeros(1 << 20, dtype=np.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        # CuPy's first allocation on a stream waits for the device; its first fill is compiled.
        x.fill(2)
        gpuport.sum(x)
    cupy.cuda.Device().synchronize()
    with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
        torch.cuda._sleep(FORTY_MS)
    with stream:
        x.fill(1)
        total = gpuport.sum(x)
    assert not stream.done
    again = gpuport.sum(x, stream=stream)
    stream.synchronize()
    assert total.item() == again.item() == 1 << 20


# JAX


def test_jax(backend: str) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError as error:
        pytest.skip(f"JAX sees no GPU: {error}")
    x = jax.device_put(np.arange(120, dtype=np.int32).reshape(6, 20), device)
    total = gpuport.sum(x, axis=0)
    assert total.devices() == {device}
    assert total.dtype == np.int64
    np.testing.assert_array_equal(total, np.asarray(x).sum(axis=0))
    half = x.astype("bfloat16")
    got = gpuport.softmax(half)
    assert got.dtype == half.dtype
    expected = gpuport.softmax(np.asarray(half)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(got).astype(np.float32), expected, rtol=1.6e-2)
