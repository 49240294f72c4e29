"""Whatever is wrong with an argument, of any function: the error says which argument it is."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import DeviceArray, ops

X = np.arange(12, dtype=np.float32).reshape(3, 4)
MASK = np.ones((3, 4), bool)


class Elsewhere:
    """NumPy's DLPack, as if of another device or another version of the protocol."""

    def __init__(self, device: Any = (1, 0), array: Any = X) -> None:
        self.device = device
        self.array = array

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.array.__dlpack__(max_version=(1, 0))
        if self.device == (1, 0):
            address = gpuport._dlpack._pointer(capsule, b"dltensor_versioned")
            gpuport._dlpack._Versioned.from_address(address).major = 2
        return capsule


NO_ARRAYS: list[Any] = [
    [[1, 2]], None, "12", 3.0, object(), np.ndarray, DeviceArray, Elsewhere, int,
    np.zeros((3, 4), complex), np.full((3, 4), None), np.full((3, 4), "a"),
    np.zeros((3, 4), "M8[s]"), np.zeros((3, 4), [("a", "i4")]), np.ma.masked_array(X, X > 3),
    Elsewhere((8, 0)), Elsewhere((15, 3)), Elsewhere((-1, 0)), Elsewhere((2**40, 0)),
    Elsewhere(None), Elsewhere(),
]  # fmt: skip
NO_INTEGERS: list[Any] = [
    np.array([1]), np.array([0, 1]), np.array(1.0), 0.5, "0", True, np.True_, [0], object(), int,
]  # fmt: skip
NO_WORDS: list[Any] = ["", "x", 0, True, b"raise", object(), np.array(["raise", "x"]), ["raise"]]
WRONG: dict[str, list[Any]] = {
    "x": NO_ARRAYS,
    "a": [*NO_ARRAYS, (X, X, X), (X, None), (X, np.zeros((3, 4), int)), (np.ndarray, X)],
    "b": [*NO_ARRAYS, (X, X, X), (X, None), (X, X[:2]), (X.astype(float), X), (X, np.ndarray)],
    "axis": [*NO_INTEGERS, 2, -3, 2**70],
    "dtype": ["x", "complex64", "float33", 5, 1.5, object(), complex, [("a", "f4"), ("a", "f4")]],
    "mask": [value for value in NO_ARRAYS if value is not None] + [X, MASK[:2], MASK[None]],
    "keep": [*NO_ARRAYS, X, MASK[:2]],
    "offsets": [*NO_ARRAYS, [], [0, 9], [[0], [1, 2]], [0, 2**64], [0, 0.5], np.zeros((1, 1), int)],
    "out": [value for value in NO_ARRAYS if value is not None] + [X.astype(int), X[:2, :2]],
    "check": [None, 0, "no", np.array([True, False])],
    "compensated": [None, 0, "no", np.array([True, False])],
    "overflow": NO_WORDS,
    "nonfinite": NO_WORDS,
    "backend": ["gpu", "", 0, b"cpu", ["cpu"], object(), np.array(["cpu", "x"])],
    "variant": ["nonesuch", 0, object(), np.array(["serial", "x"]), ["serial"]],
    "warp_size": [*NO_INTEGERS, 16, 0, -32],
    "stream": [-1, 5, 0.5, "0", True, object(), np.array([0]), Elsewhere(), int],
    "deterministic": [False, 0, "yes", np.array([True, False])],
}


def right(name: str) -> dict[str, Any]:
    """Arguments that the function takes."""
    if name == "merge_softmax_states":
        return {"a": (X, X), "b": (X, X)}
    if name == "compact":
        return {"x": X, "keep": MASK}
    if name.startswith("segmented_"):
        return {"x": X[0], "offsets": [0, 4]}
    return {"x": X.astype(int) if name == "nonzero" else X}


def arguments() -> list[tuple[str, str]]:
    names = {name: inspect.signature(getattr(gpuport, name)).parameters for name in ops.__all__}
    return [(name, argument) for name, taken in names.items() for argument in taken]


def test_every_argument_is_in_the_table() -> None:
    assert {argument for _, argument in arguments()} == set(WRONG)


@pytest.mark.parametrize(("name", "argument"), arguments())
def test_the_error_names_the_argument(name: str, argument: str) -> None:
    call = getattr(gpuport, name)
    assert call(**right(name)) is not None
    for value in WRONG[argument]:
        with pytest.raises((TypeError, ValueError, BufferError)) as caught:
            call(**{**right(name), argument: value})
        assert re.search(rf"\b{argument}\b", str(caught.value)), (value, str(caught.value))
        assert "only integer scalar arrays" not in str(caught.value)
