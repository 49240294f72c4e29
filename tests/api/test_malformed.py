"""Arrays without memory, and producers that break their protocol: refused by name, untouched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuport
from fake_gpu import FakeModule
from gpuport import DeviceArray, _dlpack

X = np.arange(12, dtype=np.float32).reshape(3, 4)
GOOD = {"shape": (3, 4), "typestr": "<f4", "strides": None, "version": 3}


class CudaInterface:
    def __init__(self, interface: Any) -> None:
        self.__cuda_array_interface__ = interface


class Dlpack:
    """NumPy's DLPack, with parts of it replaced."""

    def __init__(self, array: Any = X, **replaced: Any) -> None:
        self.array = array
        self.replaced = replaced

    def __dlpack_device__(self) -> Any:
        return self.replaced.get("device", (1, 0))

    def __dlpack__(self, **options: Any) -> Any:
        return self.replaced.get("capsule", self.array.__dlpack__(**options))


class NoDevice:
    def __dlpack__(self, **options: Any) -> Any:
        return X.__dlpack__(**options)


def null_array(dtype: str) -> Dlpack:
    """Four elements at address 0, and an offset from there."""
    array = np.zeros(4, dtype)
    capsule = array.__dlpack__(max_version=(1, 0))
    address = _dlpack._pointer(capsule, b"dltensor_versioned")
    tensor = _dlpack._Versioned.from_address(address).tensor
    tensor.data, tensor.byte_offset = None, 64
    return Dlpack(array, capsule=capsule)


def test_null_addresses_on_the_host_name_the_argument() -> None:
    floats, flags = null_array("float32"), null_array("bool")
    x = np.zeros(4, np.float32)
    calls = {
        "x": lambda: gpuport.sum(floats),
        "mask": lambda: gpuport.softmax(x, mask=flags),
        "keep": lambda: gpuport.compact(x, flags),
        "offsets": lambda: gpuport.segmented_sum(x, null_array("int64")),
        "out": lambda: gpuport.softmax(x, out=floats),
    }
    for argument, call in calls.items():
        with pytest.raises(ValueError, match=rf"^{argument} has no memory"):
            call()


def test_null_addresses_on_a_gpu_name_the_argument(fake_cuda: FakeModule) -> None:
    null = CudaInterface({**GOOD, "data": (0, False)})
    x = DeviceArray.from_numpy(X, backend="cuda")
    with pytest.raises(ValueError, match=r"^x has no memory"):
        gpuport.sum(null)
    with pytest.raises(ValueError, match=r"^out has no memory"):
        gpuport.softmax(x, out=null)
    flags = CudaInterface({**GOOD, "typestr": "|b1", "data": (0, True)})
    with pytest.raises(ValueError, match=r"^mask has no memory"):
        gpuport.softmax(x, mask=flags)
    assert "run" not in fake_cuda.names()


def test_misaligned_memory_on_a_gpu_is_refused(fake_cuda: FakeModule) -> None:
    """A copy would hide what the caller pays for; on the host it is made."""
    x = DeviceArray.from_numpy(X, backend="cuda")
    row = DeviceArray.from_numpy(X.reshape(-1), backend="cuda")
    at = {"data": (x.view.address + 2, False)}
    moved = CudaInterface({**GOOD, **at, "shape": (2, 4)})
    with pytest.raises(ValueError, match=r"^x is not aligned to its elements"):
        gpuport.sum(moved)
    keep = CudaInterface({**GOOD, **at, "typestr": "<i4", "shape": (2, 4)})
    half = DeviceArray.from_numpy(X[:2], backend="cuda")
    with pytest.raises(ValueError, match=r"^keep is not aligned to its elements"):
        gpuport.compact(half, keep)
    ends = CudaInterface({**GOOD, **at, "typestr": "<i8", "shape": (2,)})
    with pytest.raises(ValueError, match=r"^offsets is not aligned to its elements"):
        gpuport.segmented_sum(row, ends)
    with pytest.raises(ValueError, match=r"^out is not aligned to its elements"):
        gpuport.softmax(half, out=moved)
    assert "run" not in fake_cuda.names()


@pytest.mark.parametrize("data", [(0, False), (None, False)])
def test_a_null_address_without_elements_is_an_empty_array(
    fake_cuda: FakeModule, data: tuple[Any, bool]
) -> None:
    empty = CudaInterface({**GOOD, "shape": (0, 4), "data": data})
    assert gpuport.sum(empty, axis=0).to_numpy().tolist() == [0] * 4


def test_an_empty_array_on_a_gpu_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuport._kinds.interchange_kind.first_gpu", lambda: None)
    empty = CudaInterface({**GOOD, "shape": (0, 4), "data": (0, False)})
    with pytest.raises(ValueError, match="x is on a GPU, and no GPU backend"):
        gpuport.sum(empty)


@pytest.mark.parametrize(
    "interface",
    [
        {},
        None,
        "f4",
        {**GOOD, "data": None},
        {**GOOD, "data": ("x", False)},
        {**GOOD, "data": (64,)},
        {**GOOD, "data": (64, False), "shape": "x"},
        {**GOOD, "data": (64, False), "shape": None},
        {**GOOD, "data": (64, False), "shape": (3.0, 4)},
        {**GOOD, "data": (64, False), "shape": (-3, 4)},
        {**GOOD, "data": (64, False), "strides": (4,)},
        {**GOOD, "data": (64, False), "strides": "xy"},
        {**GOOD, "data": (64, False), "typestr": "nonsense"},
        {**GOOD, "data": (64, False), "stream": "x"},
    ],
)
def test_malformed_cuda_array_interfaces(interface: Any) -> None:
    malformed = CudaInterface(interface)
    with pytest.raises(TypeError, match=r"^x has a malformed __cuda_array_interface__"):
        gpuport.sum(malformed)
    with pytest.raises(TypeError, match=r"^mask has a malformed __cuda_array_interface__"):
        gpuport.softmax(X, mask=malformed)
    with pytest.raises(TypeError, match=r"^out has a malformed __cuda_array_interface__"):
        gpuport.softmax(X, out=malformed)


@pytest.mark.parametrize(
    ("malformed", "message"),
    [
        (Dlpack(device=None), r"__dlpack_device__\(\) gave None"),
        (Dlpack(device=(1,)), r"__dlpack_device__\(\) gave \(1,\)"),
        (Dlpack(device=("cpu", 0)), r"__dlpack_device__\(\) gave \('cpu', 0\)"),
        (Dlpack(capsule=None), r"__dlpack__\(\) gave None"),
        (NoDevice(), "without __dlpack_device__"),
    ],
)
def test_malformed_dlpack_producers(malformed: Any, message: str) -> None:
    with pytest.raises(TypeError, match=rf"^x.*{message}"):
        gpuport.sum(malformed)
    with pytest.raises(TypeError, match=rf"^out.*{message}"):
        gpuport.softmax(X, out=malformed)
