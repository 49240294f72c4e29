"""What happens around a launch on a GPU, with a recording stand-in for the native module.

The stand-in computes in host memory, so these tests run anywhere; test_gpu.py repeats what needs a
GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuport
from fake_gpu import FakeModule
from gpuport import DeviceArray, _replay

X = np.random.default_rng(0).normal(size=(6, 40)).astype(np.float32)
PLACES: list[dict[str, Any]] = [{"backend": "cuda", "device": n} for n in (0, 1)]


class CudaInterface:
    """An array of no library, known by `__cuda_array_interface__` alone."""

    def __init__(self, array: DeviceArray, **changes: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            **array.__cuda_array_interface__,
            "stream": None,
            **changes,
        }


def device(array: np.ndarray, ordinal: int = 0) -> DeviceArray:
    return DeviceArray.from_numpy(array, backend="cuda", device=ordinal)


def streams_of(fake: FakeModule, name: str = "run") -> list[int]:
    return [details["stream"] for call, details in fake.calls if call == name]


# NumPy in, NumPy out: copied there and back.


@pytest.mark.parametrize("axis", [0, 1, None])
def test_host_arrays_are_copied_there_and_back(fake_cuda: FakeModule, axis: int | None) -> None:
    for x in (X, X.T, X[::-1, ::2], X.astype(">f4"), np.asfortranarray(X)):
        got = gpuport.sum(x, axis=axis, backend="cuda")
        assert isinstance(got, np.ndarray)
        np.testing.assert_allclose(got, x.astype(np.float64).sum(axis=axis), atol=1e-5)
        out = np.empty((2 * x.shape[0], x.shape[1]), np.float32)[::2]
        assert gpuport.softmax(x, axis=axis, backend="cuda", out=out) is out
        np.testing.assert_array_equal(out, gpuport.softmax(x, axis=axis, backend="cuda"))
    assert {"allocate", "upload", "run", "download"} <= set(fake_cuda.names())
    assert fake_cuda.names()[-1] == "download"


def test_host_masks_go_along(fake_cuda: FakeModule) -> None:
    mask = np.arange(40) % 3 > 0
    got = gpuport.softmax(X, mask=mask, backend="cuda")
    assert (got[:, ~mask] == 0).all()
    np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-6)
    with pytest.raises(ValueError, match=r"index \(0, 0\)"):
        gpuport.softmax(X, mask=np.zeros(40, bool), backend="cuda", nonfinite="raise")


def test_integers_and_bfloat16_there_and_back(fake_cuda: FakeModule) -> None:
    import ml_dtypes

    half = X.astype(ml_dtypes.bfloat16)
    assert gpuport.softmax(half, backend="cuda").dtype == half.dtype
    got = gpuport.softmax((X * 9).astype(np.int16), axis=0, backend="cuda")
    assert got.dtype == np.float64
    np.testing.assert_allclose(got.sum(axis=0), 1)
    assert gpuport.sum(np.empty((0, 3), np.int8), axis=0, backend="cuda").tolist() == [0] * 3


def test_an_error_launches_nothing(fake_cuda: FakeModule) -> None:
    out = np.full(6, 7, np.float32)
    for keywords in (
        {"axis": 0},
        {"axis": 1, "warp_size": 64},
        {"axis": 1, "variant": "nonesuch"},
        {"axis": 1, "variant": "atomic", "deterministic": True},
    ):
        with pytest.raises(ValueError, match=r"."):
            gpuport.sum(X, out=out, backend="cuda", **keywords)
    assert (out == 7).all()
    assert "run" not in fake_cuda.names()


# Arrays on a device.


def test_device_arrays_stay_where_they_are(fake_cuda: FakeModule) -> None:
    for ordinal, warp_size in ((0, 32), (2, 64)):
        x = device(X, ordinal)
        fake_cuda.calls.clear()
        got = gpuport.softmax(x, axis=0, warp_size=warp_size)
        assert isinstance(got, DeviceArray)
        assert (got.backend, got.device) == ("cuda", ordinal)
        assert set(fake_cuda.names()) == {"allocate", "run"}
        assert all(details["device"] == ordinal for _, details in fake_cuda.calls)
        np.testing.assert_allclose(got.to_numpy().sum(axis=0), 1, rtol=1e-6)


def test_repeated_calls_go_to_the_device_of_their_arrays(fake_cuda: FakeModule) -> None:
    for ordinal in (0, 1):
        for n in range(3):
            x, out = device(X + n, ordinal), DeviceArray.empty((6,), "float32", **PLACES[ordinal])
            assert gpuport.sum(x, axis=1, out=out) is out
            np.testing.assert_allclose(out.to_numpy(), (X + n).sum(axis=1), rtol=1e-5)
    devices = [details["device"] for name, details in fake_cuda.calls if name == "run"]
    assert devices == [0, 0, 0, 1, 1, 1]
    assert _replay._plans.filled() == [True, True]
    with pytest.raises(ValueError, match="out is on"):
        gpuport.sum(device(X, 0), axis=1, out=out)


def test_warp_size_of_a_gpu_is_its_own(fake_cuda: FakeModule) -> None:
    with pytest.raises(ValueError, match="cuda device 0 has warps of 32 lanes"):
        gpuport.sum(device(X), warp_size=64)
    with pytest.raises(ValueError, match="cuda device 2 has warps of 64 lanes"):
        gpuport.sum(device(X, 2), warp_size=32)
    records = [d for d in gpuport.devices() if d.backend == "cuda"]
    assert [d.warp_sizes for d in records] == [(32,), (32,), (64,)]


def test_places_do_not_mix(fake_cuda: FakeModule) -> None:
    x = device(X)
    with pytest.raises(ValueError, match="out is on the host, x on cuda device 0"):
        gpuport.sum(x, axis=1, out=np.empty(6, np.float32))
    with pytest.raises(ValueError, match="out is on cuda device 1, x on cuda device 0"):
        gpuport.sum(x, axis=1, out=device(np.empty(6, np.float32), 1))
    with pytest.raises(ValueError, match="mask is on the host"):
        gpuport.softmax(x, mask=np.ones(40, bool))
    with pytest.raises(ValueError, match="mask is on cuda device 0, x on the host"):
        gpuport.softmax(X, mask=device(np.ones(40, bool)), backend="cuda")
    for backend in ("cpu", "hip"):
        error = ValueError if backend == "cpu" else gpuport.BackendUnavailableError
        with pytest.raises(error, match=backend):
            gpuport.sum(x, backend=backend)
    assert "run" not in fake_cuda.names()


def test_packing_on_the_device(fake_cuda: FakeModule) -> None:
    values = np.random.default_rng(1).normal(size=(50, 3, 51)).astype(np.float32)
    x = device(values)
    got = gpuport.softmax(x, axis=1)
    assert fake_cuda.names().count("copy") == 2  # x into rows, the result back
    assert fake_cuda.names().count("run") == 1
    expected = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-5)


def test_results_are_right_in_a_strided_device_array(fake_cuda: FakeModule) -> None:
    block = DeviceArray.from_numpy(np.zeros(100, np.float32), backend="cuda")
    out = DeviceArray(block._buffer, (6,), "float32", strides=(-3,), offset=50, backend="cuda")
    assert gpuport.sum(device(X), axis=1, out=out) is out
    np.testing.assert_allclose(out.to_numpy(), X.sum(axis=1), atol=1e-5)
    assert block.to_numpy()[50] == out.to_numpy()[0]
    assert np.count_nonzero(block.to_numpy()) == 6
    with pytest.raises(ValueError, match="overlaps"):
        gpuport.softmax(out, out=DeviceArray(block._buffer, (6,), "float32", backend="cuda",
                                             strides=(3,), offset=35))  # fmt: skip


# Streams.


class CudaStream:
    def __init__(self, handle: int, version: int = 0) -> None:
        self.pair = (version, handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return self.pair


class TorchLikeStream:
    def __init__(self, handle: int, index: int) -> None:
        self.cuda_stream = handle
        self.device = type("Device", (), {"index": index})()


class CupyLikeStream:
    def __init__(self, handle: int, device_id: int = -1) -> None:
        self.ptr = handle
        self.device_id = device_id


@pytest.mark.parametrize(
    ("stream", "handle"),
    [(None, 0), (0, 0), (1, 0), (2, 2), (4711, 4711), (CudaStream(99), 99),
     (TorchLikeStream(7, 0), 7), (CupyLikeStream(8), 8), (CupyLikeStream(8, 0), 8)],
)  # fmt: skip
def test_every_form_of_a_stream(fake_cuda: FakeModule, stream: object, handle: int) -> None:
    gpuport.sum(device(X), axis=1, stream=stream)
    assert streams_of(fake_cuda) == [handle]


@pytest.mark.parametrize(
    ("stream", "error", "message"),
    [(-1, ValueError, "negative"), (True, TypeError, "stream"), ("0", TypeError, "stream"),
     (CudaStream(9, 1), ValueError, "version 1"), (TorchLikeStream(7, 1), ValueError, "device 1"),
     (CupyLikeStream(8, 2), ValueError, "device 2")],
)  # fmt: skip
def test_wrong_streams(
    fake_cuda: FakeModule, stream: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        gpuport.sum(device(X), stream=stream)
    assert "run" not in fake_cuda.names()


def test_capture_refuses_what_must_wait(fake_cuda: FakeModule) -> None:
    fake_cuda.capturing.add(7)
    x = device(X)
    with pytest.raises(gpuport.Error, match="capture"):
        gpuport.sum(x, stream=7, nonfinite="raise")
    assert gpuport.sum(x, stream=7).shape == ()
    assert "synchronize" not in fake_cuda.names()
    assert "first_nonfinite" not in fake_cuda.names()


# __cuda_array_interface__ and DLPack.


def test_cuda_array_interface(fake_cuda: FakeModule) -> None:
    x = device(X, 1)
    got = gpuport.sum(CudaInterface(x), axis=0)
    assert isinstance(got, DeviceArray)
    assert got.device == 1
    np.testing.assert_allclose(got.to_numpy(), X.sum(axis=0), atol=1e-5)
    transposed = CudaInterface(x, shape=(40, 6), strides=(4, 160))
    np.testing.assert_array_equal(gpuport.max(transposed, axis=1).to_numpy(), X.max(axis=0))
    empty = CudaInterface(x, shape=(0, 6), strides=None, data=(0, False))
    assert gpuport.sum(empty, axis=0).to_numpy().tolist() == [0] * 6
    plain = CudaInterface(x, strides=None)
    np.testing.assert_array_equal(gpuport.max(plain, axis=1).to_numpy(), X.max(axis=1))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"typestr": "<c8"}, TypeError, "complex64"),
        ({"typestr": ">f4"}, ValueError, "byte order"),
        ({"strides": (161, 4)}, ValueError, "strides"),
        ({"mask": object()}, TypeError, "mask"),
        ({"stream": 0}, ValueError, "ambiguous"),
        ({"data": (64, False)}, ValueError, "no GPU backend knows the address"),
    ],
)
def test_wrong_cuda_array_interfaces(
    fake_cuda: FakeModule, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        gpuport.sum(CudaInterface(device(X), **changes))


def test_read_only_cuda_array_interface(fake_cuda: FakeModule) -> None:
    x = device(X)
    frozen = CudaInterface(x, data=(x.view.address, True))
    assert gpuport.sum(frozen).shape == ()
    with pytest.raises(ValueError, match="read-only"):
        gpuport.softmax(x, out=frozen)


def test_the_producers_stream_is_used_or_waited_for(fake_cuda: FakeModule) -> None:
    x = device(X)
    gpuport.sum(CudaInterface(x, stream=1))
    gpuport.sum(CudaInterface(x, stream=77))
    assert streams_of(fake_cuda) == [0, 77]
    assert streams_of(fake_cuda, "synchronize") == []
    gpuport.sum(CudaInterface(x, stream=77), stream=5)
    assert streams_of(fake_cuda) == [0, 77, 5]
    assert streams_of(fake_cuda, "synchronize") == [77]


class OnlyDlpack:
    """Hides all of an array but DLPack, and notes the stream that it is asked for."""

    def __init__(self, array: Any, device: tuple[int, int] | None = None) -> None:
        self.array = array
        self.device = device
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device or self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        return self.array.__dlpack__(max_version=max_version)


@pytest.mark.parametrize(("stream", "number"), [(None, 1), (0, 1), (2, 2), (4711, 4711)])
def test_dlpack_stream_numbers_of_cuda(fake_cuda: FakeModule, stream: object, number: int) -> None:
    x = OnlyDlpack(X, device=(2, 0))
    gpuport.sum(x, stream=stream)
    assert x.streams == [number]


def test_dlpack_stream_numbers() -> None:
    from gpuport._dlpack import stream_number

    assert [stream_number("cuda", s) for s in (0, 1, 2, 99)] == [1, 1, 2, 99]
    assert [stream_number("hip", s) for s in (0, 99)] == [0, 99]
    for handle in (1, 2):
        with pytest.raises(ValueError, match="ROCm"):
            stream_number("hip", handle)


# DeviceArray itself.


def test_round_trip_of_every_layout(fake_cuda: FakeModule) -> None:
    for x in (X, X.T, X[::-1], X[:0], np.float64(3), X > 0):
        array = device(np.asarray(x), 1)
        assert array.shape == np.shape(x)
        np.testing.assert_array_equal(array.to_numpy(), x)
    whole = device(np.arange(24, dtype=np.int32))
    part = DeviceArray(whole._buffer, (2, 3), "int32", strides=(6, -1), offset=10, backend="cuda")
    assert part.to_numpy().tolist() == [[10, 9, 8], [16, 15, 14]]


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((25,), None, 0), ((3, 8), (9, 1), 0), ((2,), (-1,), 0), ((2,), (1, 1), 0), ((4,), None, -1),
     ((-1,), None, 0)],
)  # fmt: skip
def test_elements_outside_the_buffer(fake_cuda: FakeModule, shape, strides, offset) -> None:
    buffer = fake_cuda.allocate(24 * 4, 0)
    with pytest.raises(ValueError, match="do not"):
        DeviceArray(buffer, shape, "int32", strides=strides, offset=offset, backend="cuda")


def test_device_array_refuses(fake_cuda: FakeModule) -> None:
    with pytest.raises(TypeError, match="complex64"):
        DeviceArray.empty((3,), np.complex64, backend="cuda")
    with pytest.raises(gpuport.BackendUnavailableError, match="hip"):
        DeviceArray.empty((3,), "int8", backend="hip")
    half = DeviceArray.empty((3,), "bfloat16", backend="cuda")
    assert not hasattr(half, "__cuda_array_interface__")


def test_reinterpreting_keeps_the_memory(fake_cuda: FakeModule) -> None:
    half = DeviceArray.empty((2, 3), "bfloat16", backend="cuda")
    bits = half.reinterpret(np.uint16)
    assert (bits.dtype, bits.shape, bits.view.address) == ("uint16", (2, 3), half.view.address)
    for other in ("int32", "complex64"):
        with pytest.raises(TypeError, match=other):
            half.reinterpret(other)


def test_memory_is_freed_with_the_array(fake_cuda: FakeModule) -> None:
    import gc
    import weakref

    array = device(X)
    buffer = weakref.ref(array._buffer)
    gc.disable()
    try:
        del array
        assert buffer() is None
    finally:
        gc.enable()


def test_a_library_that_knows_no_streams_gets_finished_results(fake_cuda: FakeModule) -> None:
    class Library:
        @staticmethod
        def asarray(made: DeviceArray) -> DeviceArray:
            assert fake_cuda.calls[-1] == ("synchronize", {"device": 1, "stream": 9})
            return made

    class Foreign(CudaInterface):
        def __array_namespace__(self) -> type[Library]:
            return Library

    got = gpuport.max(Foreign(device(X, 1)), stream=9)
    assert got.to_numpy() == X.max()


def test_nonfinite_under_a_broadcast_mask(fake_cuda: FakeModule) -> None:
    values = X.T.copy()
    values[6, 3] = np.nan
    x = DeviceArray(device(values)._buffer, (6, 40), "float32", strides=(1, 6), backend="cuda")
    keep = np.ones(40, bool)
    keep[6] = False
    mask = device(keep)
    assert gpuport.logsumexp(x, mask=mask, nonfinite="raise").shape == (6,)
    keep[6], keep[7] = True, False
    with pytest.raises(ValueError, match=r"index \(3, 6\)"):
        gpuport.softmax(x, mask=device(keep), nonfinite="raise")
