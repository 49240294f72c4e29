"""How the native launcher reads the arrays of each library, and whose stream it takes."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import _launcher
from gpuport._view import HOST
from gpuport.loading.arrays import resolve_array
from recording_driver import FLOAT, SIGNED, Driver, asked, host_kernel, no_stream, pointer


def test_numpy_arrays_are_read_anew_at_each_call() -> None:
    kernel, given = host_kernel(pointer("x"))
    x = np.zeros(4, "f4")
    kernel(1, 1, (x,))
    assert given == [x.ctypes.data]
    x.resize(100_000, refcheck=False)
    kernel(1, 1, (x,))
    assert given == [x.ctypes.data]
    x.flags.writeable = False
    with pytest.raises(TypeError, match=r"parameter 1, x .*read-only"):
        kernel(1, 1, (x,))
    with pytest.raises(TypeError, match=r"an array of int32 given, float32 wanted"):
        kernel(1, 1, (x.view("i4"),))
    with pytest.raises(TypeError, match="not C-contiguous"):
        kernel(1, 1, (x.reshape(2, -1).T,))


@pytest.mark.parametrize(
    ("dtype", "kind", "size"),
    [("?", 1, 1), ("i1", 2, 1), ("u8", 3, 8), ("q", 2, 8), ("f2", 5, 2), ("f8", 4, 8)],
)
def test_numpy_dtypes(dtype: str, kind: int, size: int) -> None:
    kernel, given = host_kernel(pointer("x", kind, size), pointer("any", 8, 0))
    x = np.zeros((2, 3), dtype)
    kernel(1, 1, (x, x[1:]))
    assert given == [x.ctypes.data, x.ctypes.data + 3 * size]


def test_whole_structs_in_numpy_arrays() -> None:
    kernel, given = host_kernel(pointer("pairs", 0, 8))
    for fits in (np.zeros(4, "f4"), np.zeros(2, "c8"), np.zeros(3, "i4,f4"), np.zeros((0, 3))):
        kernel(1, 1, (fits,))
        assert given == [fits.ctypes.data]
    for other in (np.zeros(3, "f4"), np.zeros(3, "i4,f4,f4")):
        with pytest.raises(TypeError, match="elements of 8 bytes wanted"):
            kernel(1, 1, (other,))


def test_a_numpy_of_another_layout_is_not_believed() -> None:
    # As if its arrays' heads were different: what they tell is not what the buffer does.
    _launcher.register_numpy(np.ndarray, {np.dtype("f4"): (FLOAT, 8)}, [np.zeros(3, "f4")])
    kernel, given = host_kernel(pointer("x"))
    x = np.zeros(4, "f4")
    kernel(1, 1, (x,))
    assert given == [x.ctypes.data]


def test_nothing_keeps_the_arrays() -> None:
    class Array(np.ndarray[Any, Any]):
        """One that a weak reference can be made to; read by the package."""

    kernel, _ = host_kernel(pointer("x"), resolve=lambda v, where: resolve_array(v, where, HOST))
    for make in (
        lambda: np.zeros(4, "f4").view(Array),
        lambda: np.zeros(4, "f4"),
        lambda: gpuport.DeviceArray.from_numpy(np.zeros(4, "f4"), backend="cpu"),
    ):
        x: Any = make()
        kernel(1, 1, (x,))
        reference = weakref.ref(x)
        del x
        gc.collect()
        assert reference() is None


def test_device_arrays() -> None:
    kernel, given = host_kernel(pointer("x"), pointer("n", SIGNED, 8, True))
    x = gpuport.DeviceArray.empty((2, 3), "float32", backend="cpu")
    n = gpuport.DeviceArray.empty((4,), "int64", backend="cpu")
    kernel(1, 1, (x, n))
    assert given == [x.view.address, n.view.address]
    with pytest.raises(TypeError, match=r"x .*an array of int64 given, float32 wanted"):
        kernel(1, 1, (n, n))
    # What does not fit is left to the package, which says why.
    turned = gpuport.DeviceArray(x._buffer, (3, 2), "float32", strides=(1, 3), backend="cpu")
    with pytest.raises(TypeError, match="asked about a DeviceArray"):
        kernel(1, 1, (turned, n))
    flat = gpuport.DeviceArray(x._buffer, (0, 2), "float32", strides=(7, 5), backend="cpu")
    kernel(1, 1, (flat, n))


def test_device_arrays_on_a_gpu_leave_the_stream_to_others() -> None:
    buffer = gpuport.DeviceArray.empty((4,), "float32", backend="cpu")._buffer
    x, elsewhere = (
        gpuport.DeviceArray(buffer, (4,), "float32", backend="cuda", device=device)
        for device in (1, 0)
    )
    driver = Driver()
    kernel = driver.kernel(asked, no_stream)
    kernel(1, 1, (x, 1, None))
    kernel(1, 1, (x, 1, TENSOR()))
    assert [launch[3] for launch in driver.launches] == [None, 0x77]
    assert driver.launches[0][4] == (buffer.address, 1, 0)
    for other in (elsewhere, gpuport.DeviceArray(buffer, (4,), "float32", backend="cpu")):
        with pytest.raises(TypeError, match="asked about a DeviceArray"):
            kernel(1, 1, (other, 1, None))


CSTREAM = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int)


def capsule(address: Any, name: bytes) -> object:
    new = ctypes.pythonapi.PyCapsule_New
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    new.restype = ctypes.py_object
    return new(ctypes.cast(address, ctypes.c_void_p), name, None)


def cupy_like() -> type:
    class Data:
        ptr, device_id = 0x7FFF_0000_2000, 1

    class Array:
        data, dtype, nbytes, _c_contiguous = Data(), "f4", 24, True

    return Array


def test_the_stream_of_cupys_own_launches() -> None:
    current = {1: 0x61}
    function = CSTREAM(lambda device: current[device])
    array = cupy_like()
    _launcher.register_library(
        array, "cupy", "cuda", {"f4": (FLOAT, 4)}, lambda device: 0x60,
        capsule(function, b"intptr_t (int)"),
    )  # fmt: skip
    driver = Driver()
    kernel = driver.kernel(asked, no_stream)
    for handle in (0x61, 0x62):
        current[1] = handle
        kernel(1, 1, (array(), 0, None))
        assert driver.launches[-1][3] == handle
    other = cupy_like()
    _launcher.register_library(
        other, "cupy", "cuda", {"f4": (FLOAT, 4)}, lambda device: 0x60,
        capsule(function, b"intptr_t (void)"),
    )  # fmt: skip
    kernel(1, 1, (other(), 0, None))
    assert driver.launches[-1][3] == 0x60  # a function of another type is not called


class Exchange:
    """DLPack's table of C functions, over objects that say what they are."""

    def __init__(
        self, major: int = 1, previous: Exchange | None = None, stream: int = 0x77
    ) -> None:
        self.streams: list[tuple[int, int]] = []
        read = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
        ask = ctypes.PYFUNCTYPE(
            ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
        )
        self._functions = read(self._read), ask(self._ask)
        self._stream = stream
        self.table = (ctypes.c_uint64 * 7)()
        self.table[0] = major  # and minor 0
        self.table[1] = ctypes.addressof(previous.table) if previous else 0
        for i, function in enumerate(self._functions):
            self.table[5 + i] = ctypes.cast(function, ctypes.c_void_p).value or 0
        self._previous = previous

    def _read(self, array: Any, to: int) -> int:
        if array.fails:
            return -1
        array.kept = (ctypes.c_int64 * 4)(*array.shape, *array.strides)
        words = (ctypes.c_uint64 * 6).from_address(to)
        words[0] = array.address
        words[1] = array.device[0] | array.device[1] << 32
        code, bits, lanes = array.dtype
        words[2] = 2 | code << 32 | bits << 40 | lanes << 48
        words[3] = ctypes.addressof(array.kept)
        words[4] = 0 if array.has_no_strides else ctypes.addressof(array.kept) + 16
        words[5] = 16
        return 0

    def _ask(self, device_type: int, device: int, to: Any) -> int:
        self.streams.append((device_type, device))
        to[0] = self._stream
        return -1 if self._stream == 0 else 0


class Exchanged:
    """What is asked of a tensor whose type has the table."""

    requires_grad, negated, fails, has_no_strides = False, False, False, False
    address = 0x7FFF_0000_3000
    device, dtype, shape, strides = (2, 1), (2, 32, 1), (2, 3), (3, 1)

    def __init__(self, **facts: Any) -> None:
        self.__dict__.update(facts)

    def is_neg(self) -> bool:
        return self.negated


def exchanged(table: Exchange) -> type:
    class Tensor(Exchanged):
        __dlpack_c_exchange_api__ = capsule(table.table, b"dlpack_exchange_api")

    _launcher.register_library(Tensor, "torch", "cuda", {}, lambda device: 0x50)
    return Tensor


EXCHANGE = Exchange()
TENSOR = exchanged(EXCHANGE)


@pytest.mark.parametrize(
    "facts",
    [{}, {"has_no_strides": True}, {"shape": (1, 3), "strides": (9, 1)},
     {"shape": (0, 3), "strides": (1, 7)}, {"shape": (0, 3), "address": 0}],
)  # fmt: skip
def test_one_call_tells_of_a_tensor(facts: dict[str, Any]) -> None:
    driver = Driver()
    EXCHANGE.streams.clear()
    driver.kernel(asked, no_stream)(1, 1, (TENSOR(**facts), 1, None))
    assert driver.launches[0][3] == 0x77
    address = facts.get("address", 0x7FFF_0000_3000) + 16  # the offset
    assert driver.launches[0][4] == (address, 1, 0)
    assert EXCHANGE.streams == [(2, 1)]


@pytest.mark.parametrize(
    "facts",
    [{"requires_grad": True}, {"negated": True}, {"fails": True}, {"device": (2, 0)},
     {"device": (1, 1)}, {"device": (10, 1)}, {"strides": (1, 2)}, {"dtype": (2, 32, 2)},
     {"dtype": (5, 64, 1)}, {"dtype": (7, 8, 1)}, {"address": 0}],
)  # fmt: skip
def test_tensors_that_the_package_is_asked_about(facts: dict[str, Any]) -> None:
    driver = Driver()
    with pytest.raises(TypeError, match=r"k: parameter 1, x .*asked about a Tensor"):
        driver.kernel(asked, no_stream)(1, 1, (TENSOR(**facts), 1, None))
    assert driver.launches == []


@pytest.mark.parametrize(
    ("dtype", "name"),
    [((0, 32, 1), "int32"), ((1, 8, 1), "uint8"), ((2, 16, 1), "float16"), ((2, 64, 1), "float64"),
     ((4, 16, 1), "bfloat16"), ((6, 8, 1), "bool")],
)  # fmt: skip
def test_the_dtype_of_a_tensor(dtype: tuple[int, int, int], name: str) -> None:
    with pytest.raises(TypeError, match=rf"an array of {name} given, float32 wanted"):
        Driver().kernel(asked, no_stream)(1, 1, (TENSOR(dtype=dtype), 1, None))


def test_whole_structs_in_a_tensor() -> None:
    kernel = Driver().kernel(asked, no_stream)
    kernel(1, 1, (None, 1, TENSOR()))
    with pytest.raises(TypeError, match="elements of 8 bytes wanted"):
        kernel(1, 1, (None, 1, TENSOR(shape=(1, 3))))


def test_versions_of_the_table() -> None:
    driver = Driver()
    kernel = driver.kernel(asked, no_stream)
    kernel(1, 1, (exchanged(Exchange(2, Exchange()))(), 1, None))
    assert driver.launches[0][4][0] == 0x7FFF_0000_3010
    with pytest.raises(TypeError, match="asked about"):  # it has none of the methods
        kernel(1, 1, (exchanged(Exchange(2))(), 1, None))


def test_a_table_that_knows_no_stream() -> None:
    driver = Driver()
    driver.kernel(asked, no_stream)(1, 1, (exchanged(Exchange(stream=0))(), 1, None))
    assert driver.launches[0][3] == 0x50
