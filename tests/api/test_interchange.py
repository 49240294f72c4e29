"""Host arrays of other libraries, through DLPack."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import _dlpack

X = np.arange(12, dtype=np.float32).reshape(3, 4)


class OnlyDlpack:
    """An array of no known library."""

    def __init__(self, array: Any, versioned: bool = True) -> None:
        self.array = array
        self.versioned = versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        if not self.versioned:
            if "max_version" in options:
                raise TypeError("an unexpected keyword argument: max_version")
            return self.array.__dlpack__()
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [True, False])
def test_results_of_unknown_kinds_are_numpy(versioned: bool) -> None:
    for array in (X, X.T, X[::-1, ::2], X[:0], np.asarray(np.float32(3))):
        got = gpuport.sum(OnlyDlpack(array, versioned), axis=None)
        assert isinstance(got, np.ndarray)
        assert got == array.sum()
        assert got.flags.writeable
    np.testing.assert_array_equal(gpuport.softmax(OnlyDlpack(X.T, versioned)), gpuport.softmax(X.T))


def test_out_must_say_that_it_can_be_written() -> None:
    memory = np.zeros((3, 4), np.float32)
    out = OnlyDlpack(memory)
    assert gpuport.softmax(X, out=out) is out
    np.testing.assert_array_equal(memory, gpuport.softmax(X))
    frozen = memory.copy()
    frozen.flags.writeable = False
    for refused in (OnlyDlpack(frozen), OnlyDlpack(memory, versioned=False)):
        with pytest.raises(ValueError, match="read-only"):
            gpuport.softmax(X, out=refused)


def test_overlap_is_seen_through_dlpack() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        gpuport.softmax(X, out=OnlyDlpack(X[::-1]))
    memory = X.copy()
    gpuport.softmax(memory, out=OnlyDlpack(memory))
    np.testing.assert_array_equal(memory, gpuport.softmax(X))


def test_misaligned_memory_overlaps_as_any_other() -> None:
    """x is copied aside there; what `out` may be is a matter of the bytes that the producer has."""
    memory = np.zeros(401, np.uint8)[1:].view(np.float32)
    memory[...] = np.resize(X, 100)
    before = memory.tobytes()
    x = OnlyDlpack(memory[20:60].reshape(4, 10))
    for call in (gpuport.softmax, gpuport.log_softmax, gpuport.inclusive_scan):
        for out in (memory[21:61], memory[59:19:-1], memory[0:80:2]):
            with pytest.raises(ValueError, match="out overlaps x without being x itself"):
                call(x, out=out.reshape(4, 10))
            assert memory.tobytes() == before
        for out in (memory[20:60], memory[60:]):
            expected = call(memory[20:60].reshape(4, 10))
            call(x, out=out.reshape(4, 10))
            np.testing.assert_allclose(out.reshape(4, 10), expected, rtol=1e-6)
            memory[...] = np.resize(X, 100)
    with pytest.raises(ValueError, match="out overlaps x"):
        gpuport.sum(x, axis=1, out=memory[59:63])


def test_bfloat16_through_dlpack() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    got = gpuport.sum(OnlyDlpack(torch.ones(300, dtype=torch.bfloat16)), dtype="float32")
    assert got == 300
    assert gpuport.max(OnlyDlpack(torch.ones(3, dtype=torch.bfloat16))).dtype.name == "bfloat16"


def test_unsupported_dtypes_through_dlpack_are_named() -> None:
    with pytest.raises(TypeError, match="complex64"):
        gpuport.sum(OnlyDlpack(np.zeros(3, np.complex64)))


def test_unknown_devices_are_refused() -> None:
    class Elsewhere(OnlyDlpack):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (8, 0)  # Metal

    with pytest.raises(TypeError, match=r"^x is on a DLPack device of type 8"):
        gpuport.sum(Elsewhere(X))


def test_nothing_leaks_and_nothing_is_consumed_twice() -> None:
    freed = []

    class Noting(np.ndarray):
        def __del__(self) -> None:
            freed.append(1)

    for _ in range(1000):
        array = np.zeros(3, np.complex64).view(Noting)
        with pytest.raises(TypeError, match="complex64"):
            gpuport.sum(OnlyDlpack(array))
        del array
    gc.collect()
    assert len(freed) >= 1000
    capsule = X.__dlpack__(max_version=(1, 0))
    assert _dlpack.read(capsule, None).shape == (3, 4)
    assert _dlpack.read(capsule, None).shape == (3, 4)  # reading is not consuming
    np.from_dlpack(type("Once", (), {
        "__dlpack__": lambda self, **options: capsule, "__dlpack_device__": lambda self: (1, 0),
    })())  # fmt: skip
    with pytest.raises(BufferError, match="consumed"):
        _dlpack.read(capsule, None)


def test_a_library_with_a_namespace_gets_its_own_kind_back() -> None:
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    x = strict.asarray(X)
    got = gpuport.softmax(x, axis=0)
    assert type(got) is type(x)
    np.testing.assert_array_equal(np.asarray(got), gpuport.softmax(X, axis=0))
    assert gpuport.sum(x).shape == ()
