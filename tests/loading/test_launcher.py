"""The native launcher alone, on a driver that writes down what it is given: no GPU is needed."""

from __future__ import annotations

import numpy as np
import pytest

from gpuport import _launcher
from recording_driver import FLOAT, Driver, asked, no_stream


class Tensor:
    """What the launcher asks of a PyTorch tensor."""

    def __init__(self, device: int = 1, contiguous: bool = True, dtype: object = "f4") -> None:
        self.dtype, self.requires_grad = dtype, False
        self._device, self._contiguous = device, contiguous

    def is_neg(self) -> bool:
        return False

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


@pytest.mark.parametrize(
    ("array", "address", "stream"),
    [(Tensor(), 0x7FFF_0000_1000, 0x51), (CupyArray(), 0x7FFF_0000_2000, 0x60)],
)
def test_what_a_driver_is_given(array: object, address: int, stream: int) -> None:
    driver = Driver()
    kernel = driver.kernel(asked, no_stream)
    kernel((3, 2), 64, (array, -5, array), shared_mem=48)
    kernel(1, (1, 2, 3), (None, 7, np.uintp(9)), stream=object())
    first = (0xF0, (3, 2, 1, 64, 1, 1), 48, stream, (address, -5, address), 0xC0)
    second = (0xF0, (1, 1, 1, 1, 2, 3), 0, 0x70, (0, 7, 9), 0xC0)
    assert driver.launches == [first, second]
    # The context that was current is current again.
    assert driver.contexts == [0xC0, 0xA0, 0xC0, 0xA0]


def test_a_current_context_stays() -> None:
    driver = Driver()
    driver.current = 0xC0
    driver.kernel(asked, no_stream)(1, 1, (None, 0, None))
    assert driver.contexts == []


@pytest.mark.parametrize(
    "array",
    [Tensor(device=0), Tensor(device=-1), Tensor(contiguous=False), Tensor(dtype="f8"), object()],
)
def test_what_it_does_not_know_the_package_is_asked_about(array: object) -> None:
    driver = Driver()
    with pytest.raises(TypeError, match=r"k: parameter 1, x \(const float\*\): asked about"):
        driver.kernel(asked, no_stream)(1, 1, (array, 1, None))
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
        driver.kernel(asked, no_stream)(1, 1, (np.zeros(4, "f4"), 1, None))


def test_a_askedd_launch() -> None:
    driver = Driver(result=701)
    with pytest.raises(RuntimeError, match=r"k 701 \(1, 1, 1\) \(2048, 1, 1\)"):
        driver.kernel(asked, no_stream)(1, 2048, (None, 0, None))
    assert driver.current == 0xA0


@pytest.mark.parametrize(("stream", "handle"), [(None, None), (0, None), (1, None), (0x99, 0x99)])
def test_streams_that_need_no_asking(stream: int | None, handle: int | None) -> None:
    driver = Driver()

    def fail(stream: object, arguments: tuple[object, ...]) -> int:
        raise AssertionError(f"asked about {stream}")

    driver.kernel(asked, fail)(1, 1, (None, 0, None), 0, stream)
    assert driver.launches[0][3] == handle
    for other in (-1, 2**70, True, object()):
        with pytest.raises(AssertionError, match="asked about"):
            driver.kernel(asked, fail)(1, 1, (None, 0, None), stream=other)


def test_how_it_is_called() -> None:
    driver = Driver()
    kernel = driver.kernel(asked, no_stream)
    args = (None, 3, None)
    kernel(2, 4, args, 16, 0x99, False)
    kernel(args=args, stream=0x99, shared_mem=16, **{"".join(["gr", "id"]): 2, "block": 4})
    kernel(2, [4], list(args), stream=0x99, shared_mem=np.int32(16), cooperative=True)
    assert [launch[:5] for launch in driver.launches] == [
        (0xF0, (2, 1, 1, 4, 1, 1), 16, 0x99, (0, 3, 0))
    ] * 3
    for given, keywords, words in (
        ((), {}, "grid is missing"),
        ((1,), {"args": args}, "block is missing"),
        ((1, 1, args), {"args": args}, "args is given twice"),
        ((1, 1), {"argz": args}, "there is no argument argz"),
        ((1, 1, args, 0, None, False, 0), {}, "7 arguments given"),
        ((1, 1, args), {"cooperative": 1}, "cooperative must be True or False"),
    ):
        with pytest.raises(TypeError, match=rf"k\(grid, block, .*: {words}"):
            kernel(*given, **keywords)


def test_a_kernel_that_was_never_made() -> None:
    kernel = _launcher.Kernel.__new__(_launcher.Kernel)
    for use in (lambda: kernel(1, 1), lambda: kernel.check(()), lambda: kernel.name):
        with pytest.raises(TypeError, match="never made"):
            use()
    with pytest.raises(TypeError):
        _launcher.Kernel("k", 1, [("x",)], object())  # type: ignore
    with pytest.raises(TypeError, match="argument"):
        _launcher.Kernel("k")  # type: ignore
