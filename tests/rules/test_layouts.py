"""Every public function over every layout that an array can have, on every backend.

On a GPU the operands lie in device memory with these very strides (`DeviceArray`); what only a host
array can be (big-endian, misaligned, a field of a record) is tested where host arrays are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gpuport
from functions import BY_NAME, FUNCTIONS, Function, check, operand_beside, whole_numbers
from gpuport import ops
from gpuport._dtypes import ALL
from gpuport.testing import Target
from places import Array, place, read, where

every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)


def test_the_table_holds_every_function() -> None:
    assert set(BY_NAME) == set(ops.__all__)


def padded_axes(a: Array) -> Array:
    """Size-1 axes whose strides count for nothing, and so may be anything."""
    return np.lib.stride_tricks.as_strided(
        a, (a.shape[0], 1, a.shape[1], 1), (a.strides[0], 7 * a.itemsize, a.strides[1], -a.itemsize)
    )


MATRICES: dict[str, Callable[[Array], Array]] = {
    "rows reversed": lambda a: a[::-1],
    "columns reversed": lambda a: a[:, ::-1],
    "both reversed": lambda a: a[::-1, ::-1],
    "every third column": lambda a: a[:, ::3],
    "every second row, backwards by three": lambda a: a[::2, ::-3],
    "transposed": lambda a: a.T,
    "fortran": np.asfortranarray,
    "fortran, three axes": lambda a: np.asfortranarray(a.reshape(3, 7, -1)),
    "axes permuted": lambda a: a.reshape(3, 7, -1).transpose(1, 2, 0),
    "rows broadcast": lambda a: np.broadcast_to(a[2], (5, a.shape[1])),
    "columns broadcast": lambda a: np.broadcast_to(a[:, 3:4], (a.shape[0], 70)),
    "one element broadcast": lambda a: np.broadcast_to(a[:1, :1], (4, 70)),
    "one row": lambda a: a[:1],
    "one column": lambda a: a[:, 5:6],
    "axes of one element": padded_axes,
    "odd offset": lambda a: a[1:, 1:],
    "no rows": lambda a: a[:0],
    "one element": lambda a: a[3, 4],
}
ROWS: dict[str, Callable[[Array], Array]] = {
    "reversed": lambda a: a.reshape(-1)[::-1],
    "every third": lambda a: a.reshape(-1)[::3],
    "backwards by seven": lambda a: a.reshape(-1)[::-7],
    "a column": lambda a: a[:, 3],
    "broadcast": lambda a: np.broadcast_to(a[0, :1], (700,)),
    "odd offset": lambda a: a.reshape(-1)[1:],
    "nothing": lambda a: a.reshape(-1)[:0],
}


def axes_of(function: Function, x: Array) -> list[Any]:
    if function.kind != "axis":
        return [None]
    if function.name in ("max", "min", "argmax", "argmin"):
        return [axis for axis in (None, *range(x.ndim)) if (x.shape[axis] if axis is not None
                                                            else x.size)]  # fmt: skip
    return [None, *range(x.ndim)]


def compare(function: Function, x: Array, target: Target, beside: Array | None) -> None:
    """On the view as it lies, against the reference of its values."""
    expected_x = np.array(x, order="C")
    there = place(target, x)
    next_to = None if beside is None else place(target, beside)
    for axis in axes_of(function, x):
        got = function.call(there, next_to, axis, **where(target))
        check(function, got, function.expected(expected_x, beside, axis))
        for result in got if isinstance(got, tuple) else (got,):
            if isinstance(result, np.ndarray):
                assert result.flags.c_contiguous
                assert result.flags.writeable
                assert not np.shares_memory(result, x)


@every_function
@pytest.mark.parametrize("dtype", ["int8", "int32", "bfloat16", "float64"])
def test_layouts(function: Function, dtype: str, target: Target) -> None:
    if dtype not in function.dtypes:
        dtype = {"bfloat16": "uint16", "float64": "int64"}[dtype]
    base = whole_numbers((21, 40), dtype)
    layouts = ROWS if function.kind == "segments" else MATRICES
    for name, layout in layouts.items():
        x = layout(base)
        beside = operand_beside(function, x.shape, seed=len(name))
        if beside is not None and function.beside != "offsets" and x.ndim == 2 and x.size:
            # Next to x in another layout than x's own.
            beside = np.asfortranarray(beside)[:, ::-1]
        compare(function, x, target, beside)


@every_function
def test_frozen_operands(function: Function, target: Target) -> None:
    base = whole_numbers((21, 40), "int16")
    x = base.reshape(-1)[3:700] if function.kind == "segments" else base[1:, ::2]
    beside = operand_beside(function, x.shape)
    for operand in (x, beside):
        if operand is not None:
            operand.flags.writeable = False
    compare(function, x, target, beside)
    frozen = np.frombuffer(base.tobytes(), np.int16)
    beside = operand_beside(function, frozen.shape)
    compare(function, frozen, target, beside)


@every_function
@pytest.mark.parametrize("dtype", ALL)
def test_every_dtype_at_an_odd_offset(function: Function, dtype: str, target: Target) -> None:
    """No vector access is aligned there."""
    if dtype not in function.dtypes:
        pytest.skip(f"{function.name} takes no {dtype}")
    for at in (1, 3):
        if function.kind == "segments":
            x = whole_numbers((2100,), dtype)[at:]
        else:
            x = whole_numbers((4, 531), dtype)[:, at:]
        compare(function, x, target, operand_beside(function, x.shape, seed=at))


def host_only(dtype: str) -> dict[str, Callable[[Array], Array]]:
    """Copies of an array in forms that no kernel can read as they are."""

    def field(a: Array) -> Array:
        record = np.zeros(a.shape, [("a", "u1"), ("b", a.dtype), ("c", "u2")])
        record["b"] = a
        return record["b"]

    def misaligned(a: Array) -> Array:
        raw = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
        raw[...] = a
        return raw

    forms = {"field": field, "field, backwards": lambda a: field(a)[::-1], "misaligned": misaligned}
    if dtype != "bfloat16":  # ml_dtypes has no other byte order
        forms["big-endian"] = lambda a: a.astype(a.dtype.newbyteorder(">"))
        forms["big-endian, backwards"] = lambda a: a.astype(a.dtype.newbyteorder(">"))[::-1]
    return forms


@every_function
@pytest.mark.parametrize("dtype", ["int16", "uint64", "float32", "bfloat16"])
def test_forms_that_must_be_copied(function: Function, dtype: str, target: Target) -> None:
    """Host arrays, on a GPU copied there and back. Each operand in turn has the odd form."""
    if dtype not in function.dtypes:
        dtype = "int32"
    shape = (301,) if function.kind == "segments" else (6, 50)
    x = whole_numbers(shape, dtype)
    beside = operand_beside(function, shape)
    for form in host_only(dtype).values():
        operands = [(form(x), beside)]
        if beside is not None and beside.dtype.itemsize > 1:
            operands.append((x, host_only("int64")["misaligned"](beside)))
            operands.append((x, beside.astype(beside.dtype.newbyteorder(">"))))
        for view, next_to in operands:
            got = function.call(view, next_to, None, **where(target))
            values = np.array(view, dtype=x.dtype, order="C")
            check(function, got, function.expected(values, beside, None))


def test_ten_big_endian_ones(target: Target) -> None:
    """Read as native they would sum to 4.6e-40."""
    assert gpuport.sum(np.ones(10, ">f4"), **where(target)) == 10


def test_uint16_is_not_taken_for_bfloat16(target: Target) -> None:
    ones = np.ones(300, ml_dtypes.bfloat16)
    assert gpuport.sum(ones, dtype="float32", **where(target)) == 300
    bits = gpuport.sum(ones.view(np.uint16), **where(target))
    assert (int(bits), bits.dtype) == (300 * 0x3F80, np.uint64)


@every_function
def test_results_are_new_memory(function: Function, target: Target) -> None:
    """Also where the result is what went in: one element, one row."""
    for shape in ((1,), (1, 1), (3,)):
        if function.kind == "segments" and len(shape) != 1:
            continue
        x = whole_numbers(shape, "int64", seed=3)
        there = place(target, x)
        beside = operand_beside(function, shape)
        axis = None if function.kind != "axis" else -1
        got = function.call(
            there, None if beside is None else place(target, beside), axis, **where(target)
        )
        before = read(there).copy()
        for result in got if isinstance(got, tuple) else (got,):
            if isinstance(result, np.ndarray):
                result[...] = 0  # writable, and not x's memory
        np.testing.assert_array_equal(read(there), before)
