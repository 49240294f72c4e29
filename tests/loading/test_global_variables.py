"""Variables of a module: what is refused, what is converted, the extents that they have."""

from __future__ import annotations

import numpy as np
import pytest

import gpuport
from gpuport.loading import Module

SOURCE = """
#include <cuda_fp16.h>
struct Pair { int count; double weight; };
__device__ int number = 7, row[3] = {1, 2, 3};
__device__ unsigned char byte;
__device__ bool flag;
__device__ float real;
__device__ __half narrow;
__device__ double mat[2][3] = {{1, 2, 3}, {4, 5, 6}};
__constant__ short deep[2][1][4];
__device__ char text[4];
__device__ Pair pairs[2];
__global__ void none() {}
"""


@pytest.fixture
def module() -> Module:
    return gpuport.load(SOURCE, backend="cpu")


def test_extents_are_those_of_the_declaration(module: Module) -> None:
    mat = module.get_global("mat")
    assert mat.get().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert mat.get("f8").shape == (6,)
    assert module.get_global("deep").get().shape == (2, 1, 4)
    assert module.get_global("row").get().tolist() == [1, 2, 3]
    assert module.get_global("number").get().tolist() == [7]
    assert module.get_global("pairs").get().shape == (2,)
    # A module from the cache knows the same.
    again = gpuport.load(SOURCE, backend="cpu")
    assert again.get_global("mat").get().shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 2**31), ("number", -(2**31) - 1), ("number", 10**400), ("byte", -1),
        ("byte", 256), ("flag", 2), ("real", 1e300), ("real", 10**400), ("narrow", 65520.0),
        ("row", [1, 2, 2**31]), ("mat", [[0, 0, 0], [0, 0, 10**400]]), ("text", [0, 0, 0, 128]),
    ],
)  # fmt: skip
def test_out_of_range(module: Module, name: str, value: object) -> None:
    variable = module.get_global(name)
    before = variable.get()
    with pytest.raises(OverflowError, match=f"{name} holds .*does not fit$") as caught:
        variable.set(value)
    assert len(str(caught.value)) < 80
    np.testing.assert_array_equal(variable.get(), before)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 1.0), ("number", np.int64(1)), ("number", np.array([2**40])), ("number", "1"),
        ("number", np.array([1], ">i4")), ("row", [1, 2, 3.0]), ("row", [1, 2, np.int64(3)]),
        ("row", np.zeros(3)), ("row", [1, 2, None]), ("real", np.float64(1)), ("real", 1j),
        ("real", np.zeros(1, "i4")), ("mat", np.zeros((2, 3), "f4")), ("flag", 1.0),
    ],
)  # fmt: skip
def test_another_type(module: Module, name: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"{name} holds "):
        module.get_global(name).set(value)


@pytest.mark.parametrize(
    ("name", "value"), [("row", [1, 2]), ("row", np.zeros(4, "i4")), ("number", [1, 2])]
)
def test_another_number_of_elements(module: Module, name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} takes .* bytes, .* given"):
        module.get_global(name).set(value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("number", -(2**31), [-(2**31)]), ("number", np.int32(5), [5]), ("number", True, [1]),
        ("row", 4, [4, 4, 4]), ("row", (1, np.int32(2), 3), [1, 2, 3]),
        ("row", range(3), [0, 1, 2]), ("row", np.arange(6, dtype="i4")[::2], [0, 2, 4]),
        ("flag", 1, [True]), ("real", 3, [3.0]), ("real", float("inf"), [float("inf")]),
        ("narrow", 65504, [65504.0]), ("mat", [[1, 2, 3], [4, 5, 6.5]], [[1, 2, 3], [4, 5, 6.5]]),
        ("mat", np.arange(6.0), [[0, 1, 2], [3, 4, 5]]), ("text", [1, -128, 127, 0], None),
    ],
)  # fmt: skip
def test_what_fits(module: Module, name: str, value: object, expected: object) -> None:
    variable = module.get_global(name)
    variable.set(value)
    assert variable.get().tolist() == (value if expected is None else expected)


def test_bytes_for_plain_char_and_for_structs(module: Module) -> None:
    text = module.get_global("text")
    text.set(np.frombuffer(b"ab\xff\x00", "u1"))
    assert text.get().tobytes() == b"ab\xff\x00"
    pairs = module.get_global("pairs")
    given = np.array(
        [(1, 2.5), (3, 4.5)], np.dtype([("count", "i4"), ("weight", "f8")], align=True)
    )
    pairs.set(given)
    assert pairs.get(given.dtype).tolist() == given.tolist()
    pairs.set(given[1])
    assert pairs.get(given.dtype).tolist() == [given[1].item()] * 2
    pairs.set(given.tobytes())
    assert pairs.get(given.dtype).tolist() == given.tolist()
    with pytest.raises(TypeError, match="pairs holds structs of 16 bytes: int given"):
        pairs.set(3)
