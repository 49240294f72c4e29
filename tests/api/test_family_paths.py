"""Scans, argmax, compaction and segments around a launch on a GPU, with the recording stand-in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuport
from fake_gpu import FakeModule
from gpuport import DeviceArray

X = np.random.default_rng(0).integers(-9, 10, (6, 40)).astype(np.int16)
ROW = X[0]
OFFSETS = [0, 5, 17, 40]


def device(array: np.ndarray, ordinal: int = 0) -> DeviceArray:
    return DeviceArray.from_numpy(array, backend="cuda", device=ordinal)


def ops(fake: FakeModule) -> list[str]:
    return [details["op"] for name, details in fake.calls if name == "run"]


def kernels(fake: FakeModule) -> list[str]:
    return [details["kernel"] for name, details in fake.calls if name == "run"]


def test_host_arrays_are_copied_there_and_back(fake_cuda: FakeModule) -> None:
    for x in (X, X.T, X[::-1, ::2], X.astype(">i2"), np.asfortranarray(X)):
        got = gpuport.inclusive_scan(x, axis=0, backend="cuda")
        np.testing.assert_array_equal(got, np.cumsum(x, axis=0, dtype=np.int64), strict=True)
        got = gpuport.argmax(x, axis=1, backend="cuda")
        np.testing.assert_array_equal(got, np.argmax(x, axis=1), strict=True)
        got = gpuport.compact(x, x > 0, backend="cuda")
        np.testing.assert_array_equal(got, x[x > 0])
        got = gpuport.nonzero(x, backend="cuda")
        np.testing.assert_array_equal(got, np.flatnonzero(x), strict=True)
    for x in (ROW, ROW[::-1], X[:, 3]):
        for offsets in ([0, 2, 5], np.array([0, 2, 5], np.uint8)):
            got = gpuport.segmented_sum(x, offsets, backend="cuda")
            assert got.tolist() == [x[:2].sum(), x[2:5].sum()]
    assert isinstance(got, np.ndarray)


def test_device_arrays_stay_where_they_are(fake_cuda: FakeModule) -> None:
    for ordinal in (0, 2):
        x = device(X, ordinal)
        fake_cuda.calls.clear()
        for got in (gpuport.exclusive_scan(x), gpuport.argmin(x, axis=0)):
            assert isinstance(got, DeviceArray)
            assert got.device == ordinal
        assert set(fake_cuda.names()) <= {"allocate", "run", "copy"}
        row, offsets = device(ROW, ordinal), device(np.array(OFFSETS), ordinal)
        fake_cuda.calls.clear()
        got = gpuport.segmented_max(row, offsets, check=False)
        assert set(fake_cuda.names()) == {"allocate", "run"}
        assert all(details["device"] == ordinal for _, details in fake_cuda.calls)
        assert got.to_numpy().tolist() == [ROW[:5].max(), ROW[5:17].max(), ROW[17:].max()]
        kept = gpuport.compact(row, device(ROW > 0, ordinal))
        assert isinstance(kept, DeviceArray)
        assert kept.to_numpy().tolist() == ROW[ROW > 0].tolist()


def test_defaults(fake_cuda: FakeModule) -> None:
    long = np.zeros((1 << 21) + 1, np.int8)
    for x, dtype, variant in (
        (ROW, "int16", "short_rows"),
        (ROW, "float32", "short_rows"),
        (long[:257], "float32", "lookback"),
        (long[1:], "float32", "lookback"),
        (long, "float32", "pipelined"),
        (long, "uint32", "pipelined"),
        (long, "bool", "lookback"),
        (long, "float16", "lookback"),
    ):
        for deterministic in (None, True):
            gpuport.inclusive_scan(device(x.astype(dtype)), deterministic=deterministic)
            assert kernels(fake_cuda)[-1] == f"scan.{variant}"
    gpuport.inclusive_scan(device(long), dtype=float)
    assert kernels(fake_cuda)[-1] == "scan.pipelined"


def test_a_long_compaction_is_one_launch(fake_cuda: FakeModule) -> None:
    long = np.arange(1 << 18, dtype=np.int32)
    for x, keep, launches in (
        (long, long % 3 == 0, ["compact.pipelined"]),
        (long[1:], long[1:] % 3 == 0, ["compact.two_pass"] * 2),
        (long, long % 3, ["compact.two_pass"] * 2),
        (long, long, ["compact.pipelined"]),
        (long, long.copy(), ["compact.two_pass"] * 2),
        (long.astype(np.int8), long % 3 == 0, ["compact.two_pass"] * 2),
    ):
        there = device(x)
        flags = there if keep is x else device(keep)
        fake_cuda.calls.clear()
        got = gpuport.compact(there, flags)
        assert kernels(fake_cuda) == launches
        np.testing.assert_array_equal(got.to_numpy(), x[keep != 0], strict=True)
    fake_cuda.calls.clear()
    assert gpuport.nonzero(device(long > 7)).shape == (long.size - 8,)
    assert kernels(fake_cuda) == ["compact.two_pass"] * 2


def test_an_array_that_is_its_own_mask_goes_to_the_device_once(fake_cuda: FakeModule) -> None:
    x = np.arange(6000, dtype=np.int32).reshape(60, 100)[:, ::2] % 3
    got = gpuport.compact(x, x, backend="cuda")
    np.testing.assert_array_equal(got, x[x != 0])
    assert fake_cuda.names().count("upload") == 1


def test_a_float64_scan_of_integers_converts_on_the_device(fake_cuda: FakeModule) -> None:
    x = device(X)
    fake_cuda.calls.clear()
    got = gpuport.inclusive_scan(x, dtype="float64")
    assert got.dtype == "float64"
    assert fake_cuda.names().count("copy") == 1
    assert "download" not in fake_cuda.names()
    np.testing.assert_array_equal(got.to_numpy(), np.cumsum(X, axis=1))
    fake_cuda.calls.clear()
    for dtype in (None, "int64"):
        gpuport.inclusive_scan(x, dtype=dtype)
    assert "copy" not in fake_cuda.names()


def test_a_scan_in_place(fake_cuda: FakeModule) -> None:
    x = device(X.astype(np.int64))
    assert gpuport.inclusive_scan(x, axis=0, out=x) is x
    np.testing.assert_array_equal(x.to_numpy(), np.cumsum(X, axis=0))


def test_the_size_of_a_compaction_is_all_that_is_read(fake_cuda: FakeModule) -> None:
    x, keep = device(X), device(X > 0)
    fake_cuda.calls.clear()
    gpuport.compact(x, keep)
    assert ops(fake_cuda) == ["count", "compact"]
    assert fake_cuda.names().count("download") == 1
    fake_cuda.calls.clear()
    gpuport.nonzero(device(np.zeros(9, np.uint8)))
    assert ops(fake_cuda) == ["count"]  # nothing to write
    fake_cuda.calls.clear()
    gpuport.nonzero(device(np.zeros((3, 0), np.uint8)))
    assert ops(fake_cuda) == []


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint64", "uint32"])
def test_offsets_on_the_device(fake_cuda: FakeModule, dtype: str) -> None:
    x, offsets = device(ROW), device(np.array(OFFSETS, dtype))
    fake_cuda.calls.clear()
    got = gpuport.segmented_sum(x, offsets)
    assert got.to_numpy().tolist() == [ROW[:5].sum(), ROW[5:17].sum(), ROW[17:].sum()]
    assert fake_cuda.names().count("copy") == (0 if dtype == "int64" else 1)
    wrong = device(np.array([0, 9, 5, 40], dtype))
    fake_cuda.calls.clear()
    with pytest.raises(ValueError, match=r"offsets\[2\] is 5, less than offsets\[1\], which is 9"):
        gpuport.segmented_sum(x, wrong)
    assert "run" not in fake_cuda.names()


def test_offsets_on_the_host_are_copied_up(fake_cuda: FakeModule) -> None:
    x = device(ROW, 1)
    for offsets in (OFFSETS, np.array(OFFSETS, np.int16), np.repeat(OFFSETS, 2)[::2]):
        fake_cuda.calls.clear()
        got = gpuport.segmented_sum(x, offsets)
        assert fake_cuda.names().count("upload") == 1
        assert "download" not in fake_cuda.names()
        assert got.device == 1
        assert got.to_numpy().tolist() == [ROW[:5].sum(), ROW[5:17].sum(), ROW[17:].sum()]
    fake_cuda.calls.clear()
    with pytest.raises(ValueError, match=r"offsets\[1\] is 41"):
        gpuport.segmented_sum(x, [0, 41])
    assert fake_cuda.names() == []


def test_what_belongs_to_no_segment_is_not_looked_at(fake_cuda: FakeModule) -> None:
    """The two ends of the offsets are read for that, wherever they are."""
    values = ROW.astype(np.float32)
    values[[2, 30]] = np.nan
    x = device(values)
    for offsets in ([3, 9, 30], np.array([3, 9, 30], np.int16), device(np.array([3, 9, 30]))):
        for check in (True, False):
            got = gpuport.segmented_sum(x, offsets, check, nonfinite="raise")
            assert got.to_numpy().tolist() == [values[3:9].sum(), values[9:30].sum()]
    with pytest.raises(ValueError, match=r"x is not finite at index 30$"):
        gpuport.segmented_sum(x, device(np.array([3, 9, 31])), nonfinite="raise")
    fake_cuda.capturing.add(7)
    fake_cuda.calls.clear()
    with pytest.raises(gpuport.Error, match="nonfinite='raise' waits"):
        gpuport.segmented_sum(x, device(np.array([3, 30])), False, nonfinite="raise", stream=7)
    assert "download" not in fake_cuda.names()


def test_places_do_not_mix(fake_cuda: FakeModule) -> None:
    x, other = device(ROW), device(ROW > 0, 1)
    with pytest.raises(ValueError, match="keep is on cuda device 1, x on cuda device 0"):
        gpuport.compact(x, other)
    with pytest.raises(ValueError, match="keep is on the host, x on cuda device 0"):
        gpuport.compact(x, ROW > 0)
    with pytest.raises(ValueError, match="offsets is on cuda device 1, x on cuda device 0"):
        gpuport.segmented_sum(x, device(np.array(OFFSETS), 1))
    with pytest.raises(ValueError, match="offsets is on cuda device 0, x on the host"):
        gpuport.segmented_sum(ROW, device(np.array(OFFSETS)), backend="cuda")
    assert "run" not in fake_cuda.names()


def test_capture_refuses_what_must_wait(fake_cuda: FakeModule) -> None:
    fake_cuda.capturing.add(7)
    x, offsets = device(ROW), device(np.array(OFFSETS))
    calls: list[tuple[Any, str]] = [
        (lambda: gpuport.compact(x, x, stream=7), "compact: reading the size of the result"),
        (lambda: gpuport.nonzero(x, stream=7), "nonzero: reading the size of the result"),
        (lambda: gpuport.segmented_sum(x, offsets, stream=7), "checking offsets on the device"),
        (lambda: gpuport.segmented_sum(x, OFFSETS, stream=7), "copying offsets from the host"),
        (lambda: gpuport.argmax(x, stream=7, nonfinite="raise"), "argmax: nonfinite='raise'"),
    ]
    fake_cuda.calls.clear()
    for call, message in calls:
        with pytest.raises(gpuport.Error, match=f"{message} waits for the GPU; under capture"):
            call()
    assert fake_cuda.names() == []
    gpuport.segmented_sum(x, offsets, check=False, stream=7)
    gpuport.inclusive_scan(x, stream=7)
    gpuport.argmax(x, stream=7)
    assert "synchronize" not in fake_cuda.names()
    assert "download" not in fake_cuda.names()


def test_the_callers_stream(fake_cuda: FakeModule) -> None:
    x, offsets = device(ROW), device(np.array(OFFSETS, np.int16))
    fake_cuda.calls.clear()
    gpuport.compact(x, x, stream=9)
    gpuport.segmented_sum(x, offsets, stream=9)
    gpuport.exclusive_scan(x, stream=9)
    gpuport.argmax(x, stream=9)
    assert {details["stream"] for _, details in fake_cuda.calls if "stream" in details} == {9}
