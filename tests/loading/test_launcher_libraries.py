"""The native launcher with the arrays and the streams of PyTorch and CuPy themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpuport._view import HOST
from gpuport.loading.arrays import _let_the_launcher_know, resolve_array
from recording_driver import Driver, asked, host_kernel, no_stream, pointer


def test_pytorch_itself() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def resolve(value: Any, where: str) -> Any:
        seen.append(value)
        return resolve_array(value, where, HOST)

    seen: list[Any] = []
    kernel, given = host_kernel(pointer("x"), resolve=resolve)
    kernel(1, 1, (torch.zeros(4),))
    seen.clear()
    x = torch.zeros(4)
    for array in (x, x[1:], x.reshape(2, 2), torch.zeros((4, 1)).T):
        kernel(1, 1, (array,))
        assert given == [array.data_ptr()]
    x.untyped_storage().resize_(1 << 20)
    x.resize_(1 << 18)
    kernel(1, 1, (x,))
    assert given == [x.data_ptr()]
    assert seen == []
    freed = torch.zeros(4)
    freed.untyped_storage().resize_(0)
    for refused, words in (
        (freed, "has no memory"),
        (torch.nested.nested_tensor([torch.zeros(2)]), "not a nested one"),
        (torch.zeros(4, requires_grad=True), "requires grad"),
        (torch._neg_view(torch.ones(4)), "negated view"),
        (torch.zeros(8)[::2], "not C-contiguous"),
        (torch.zeros(4, dtype=torch.complex64), "no counterpart"),
        (torch.zeros(4).to_sparse(), "dense tensor"),
        (torch.zeros(4, device="meta"), "out of reach"),
    ):
        with pytest.raises(TypeError, match=words):
            kernel(1, 1, (refused,))
    assert len(seen) == 8
    with pytest.raises(TypeError, match="an array of float64 given"):
        kernel(1, 1, (torch.zeros(4, dtype=torch.float64),))


def test_cupy_itself() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    if cupy.cuda.runtime.is_hip:
        pytest.skip("this CuPy is for AMD's GPUs")
    memory = np.zeros(64, "f4")

    def array(device: int, shape: tuple[int, ...] = (2, 3), dtype: str = "f4") -> Any:
        owner = cupy.cuda.UnownedMemory(memory.ctypes.data, memory.nbytes, memory, device)
        return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(owner, 8))

    driver = Driver()
    kernel = driver.kernel(asked, no_stream)
    x = array(1)
    _let_the_launcher_know(x)
    kernel(1, 1, (x, 1, x), stream=0)
    kernel(1, 1, (x[1:], 1, array(1, (0, 3))[:, ::2]), stream=0)
    address = memory.ctypes.data + 8
    assert driver.launches[0][4] == (address, 1, address)
    assert driver.launches[1][4][0] == address + 12
    for other in (array(0), x.T, x[:, ::2], array(1, dtype="c8")):
        with pytest.raises(TypeError, match="asked about a ndarray"):
            kernel(1, 1, (other, 1, None), stream=0)
    with pytest.raises(TypeError, match="an array of int32 given"):
        kernel(1, 1, (array(1, dtype="i4"), 1, None), stream=0)
    with pytest.raises(TypeError, match="elements of 8 bytes wanted"):
        kernel(1, 1, (None, 1, array(1, (3,))), stream=0)


def streams_of(kernel_device: int, array: Any, use: Callable[[], None]) -> list[int | None]:
    """The stream of a launch, then of one after `use`, then of one in another thread."""
    driver = Driver()
    kernel = driver.kernel(asked, no_stream, device=kernel_device)

    def launch() -> None:
        kernel(1, 1, (array, 1, None))

    launch()
    use()
    launch()
    other = threading.Thread(target=launch)
    other.start()
    other.join()
    return [handle for _, _, _, handle, _, _ in driver.launches]


@pytest.mark.gpu
def test_the_current_stream_of_cupy() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        x = cupy.zeros(4, "f4")
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy has no device: {error}")
    if cupy.cuda.runtime.is_hip:
        pytest.skip("this CuPy is for AMD's GPUs")
    _let_the_launcher_know(x)
    default = cupy.cuda.get_current_stream().ptr or None
    stream = cupy.cuda.Stream(non_blocking=True)
    try:
        assert streams_of(0, x, stream.use) == [default, stream.ptr, default]
    finally:
        cupy.cuda.Stream.null.use()


@pytest.mark.gpu
def test_the_current_stream_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available() or torch.version.hip:
        pytest.skip("PyTorch has no device of NVIDIA's")
    x = torch.zeros(4, device="cuda")
    _let_the_launcher_know(x)
    default, stream = torch.cuda.current_stream(), torch.cuda.Stream()
    expected = [default.cuda_stream or None, stream.cuda_stream, default.cuda_stream or None]
    try:
        assert streams_of(x.get_device(), x, lambda: torch.cuda.set_stream(stream)) == expected
    finally:
        torch.cuda.set_stream(default)
