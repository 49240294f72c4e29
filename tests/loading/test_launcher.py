"""The native launcher alone, on a driver that writes down what it is given: no GPU is needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpuport import _launcher

LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p,
)  # fmt: skip
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
POINTER, SIGNED, FLOAT, OTHER = 7, 2, 4, 0

# const float* x, int n, float2* pairs
PARAMETERS = [
    ("x", "const float*", POINTER, 8, 8, FLOAT, 4, True),
    ("n", "int", SIGNED, 4, 4, 0, 0, False),
    ("pairs", "float2*", POINTER, 8, 8, OTHER, 8, False),
]


class Driver:
    """A CUDA driver of one context, 0xC0, where 0xA0 is current."""

    def __init__(self, result: int = 0) -> None:
        self.current = 0xA0
        self.launches: list[tuple[Any, ...]] = []
        self.contexts: list[int] = []
        self._functions = [LAUNCH(self._launch), GET(self._get), SET(self._set)]
        self.result = result

    def _launch(self, function: int, *rest: Any) -> int:
        *extents, shared, stream, parameters, _ = rest
        values = (
            ctypes.c_uint64.from_address(parameters[0]).value,
            ctypes.c_int32.from_address(parameters[1]).value,
            ctypes.c_uint64.from_address(parameters[2]).value,
        )
        self.launches.append((function, tuple(extents), shared, stream, values, self.current))
        return self.result

    def _get(self, place: Any) -> int:
        place[0] = self.current
        return 0

    def _set(self, context: int) -> int:
        self.contexts.append(context)
        self.current = context
        return 0

    def kernel(self, resolve: Callable[..., Any], stream: Callable[..., Any]) -> _launcher.Kernel:
        launch, get, set_ = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._functions)

        def on_error(name: str, code: int, grid: Any, block: Any) -> None:
            raise RuntimeError(f"{name} {code} {grid} {block}")

        target = _launcher.Target(
            launch, launch, get, set_, 0xC0, True, "cuda", 1, resolve, stream, on_error
        )
        return _launcher.Kernel("k", 0xF0, PARAMETERS, target)


class Tensor:
    """What the launcher asks of a PyTorch tensor."""

    def __init__(self, device: int = 1, contiguous: bool = True, dtype: object = "f4") -> None:
        self.dtype, self.requires_grad = dtype, False
        self._device, self._contiguous = device, contiguous

    def get_device(self) -> int:
        return self._device

    def is_contiguous(self) -> bool:
        return self._contiguous

    def data_ptr(self) -> int:
        return 0x7FFF_0000_1000

    def numel(self) -> int:
        return 6


class Data:
    ptr, device_id = 0x7FFF_0000_2000, 1


class CupyArray:
    """What it asks of a CuPy array."""

    data, dtype, nbytes, _c_contiguous = Data, "f4", 24, True


_launcher.register_library(
    Tensor, "torch", "cuda", {"f4": (FLOAT, 4)}, lambda device: 0x50 + device
)
_launcher.register_library(CupyArray, "cupy", "cuda", {"f4": (FLOAT, 4)}, lambda device: 0x60)


def refuse(value: object, where: str) -> Any:
    raise TypeError(f"{where}: asked about a {type(value).__name__}")


def no_stream(stream: object, arguments: tuple[object, ...]) -> int:
    return 0x70


@pytest.mark.parametrize(
    ("array", "address", "stream"),
    [(Tensor(), 0x7FFF_0000_1000, 0x51), (CupyArray(), 0x7FFF_0000_2000, 0x60)],
)
def test_what_a_driver_is_given(array: object, address: int, stream: int) -> None:
    driver = Driver()
    kernel = driver.kernel(refuse, no_stream)
    kernel((3, 2), 64, (array, -5, array), shared_mem=48)
    kernel(1, (1, 2, 3), (None, 7, np.uintp(9)), stream=0)
    first = (0xF0, (3, 2, 1, 64, 1, 1), 48, stream, (address, -5, address), 0xC0)
    second = (0xF0, (1, 1, 1, 1, 2, 3), 0, 0x70, (0, 7, 9), 0xC0)
    assert driver.launches == [first, second]
    # The context that was current is current again.
    assert driver.contexts == [0xC0, 0xA0, 0xC0, 0xA0]


def test_a_current_context_stays() -> None:
    driver = Driver()
    driver.current = 0xC0
    driver.kernel(refuse, no_stream)(1, 1, (None, 0, None))
    assert driver.contexts == []


@pytest.mark.parametrize(
    "array",
    [Tensor(device=0), Tensor(device=-1), Tensor(contiguous=False), Tensor(dtype="f8"), object()],
)
def test_what_it_does_not_know_the_package_is_asked_about(array: object) -> None:
    driver = Driver()
    with pytest.raises(TypeError, match=r"k: parameter 1, x \(const float\*\): asked about"):
        driver.kernel(refuse, no_stream)(1, 1, (array, 1, None))
    assert driver.launches == []

    def resolve(value: object, where: str) -> tuple[int, int, int, int, bool]:
        return 0x1234, FLOAT, 4, 24, True

    driver.kernel(resolve, no_stream)(1, 1, (array, 1, None))
    assert driver.launches[0][4] == (0x1234, 1, 0)
    with pytest.raises(TypeError, match=r"pairs .*read-only"):
        driver.kernel(resolve, no_stream)(1, 1, (None, 1, array))


def test_host_arrays_are_never_read_for_a_gpu() -> None:
    driver = Driver()
    with pytest.raises(TypeError, match="asked about a ndarray"):
        driver.kernel(refuse, no_stream)(1, 1, (np.zeros(4, "f4"), 1, None))


def test_a_refused_launch() -> None:
    driver = Driver(result=701)
    with pytest.raises(RuntimeError, match=r"k 701 \(1, 1, 1\) \(2048, 1, 1\)"):
        driver.kernel(refuse, no_stream)(1, 2048, (None, 0, None))
    assert driver.current == 0xA0
