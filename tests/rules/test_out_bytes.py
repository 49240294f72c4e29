"""`out=` in layouts that no kernel can write: what overlaps is told from the caller's own bytes.

Host arrays that are copied aside: big-endian, misaligned, fields of records, strides of any number
of bytes. On a GPU they are copied there and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuport
from functions import FUNCTIONS, Function, check
from gpuport.testing import Target
from places import Array, where

Lines = tuple[Array, Array]
writing = [function for function in FUNCTIONS if function.takes_out]
every_function = pytest.mark.parametrize("function", writing, ids=lambda f: f.name)
in_place = pytest.mark.parametrize(
    "function", [f for f in writing if f.in_place], ids=lambda f: f.name
)


def strided(step: int, dtype: str, at: int = 0) -> Callable[[int], Lines]:
    """So many elements `step` bytes apart, and once more as the operand beside."""

    def make(n: int) -> Lines:
        made = np.ndarray((n,), dtype, np.zeros(n * step + at + 8, np.uint8), at, (step,))
        return made, made

    return make


def pair(first: str, second: str) -> Callable[[int], Lines]:
    """The same bytes read in two orders."""
    return lambda n: ((made := np.zeros(n, first)), made.view(second))


def field(kind: Any, *names: str) -> Callable[[int], Lines]:
    def make(n: int) -> Lines:
        record = np.zeros(n, kind)
        return record[names[0]], record[names[-1]]

    return make


LINES: dict[str, Callable[[int], Lines]] = {
    "big-endian": strided(4, ">f4"),
    "misaligned": strided(4, "<f4", 1),
    "field": field([("p", "u1"), ("v", "<f4")], "v"),
    "big-endian field": field([("p", "u1"), ("v", ">f4")], "v"),
    "one byte further": strided(5, "<f4"),
    "of half elements": strided(6, "<f4"),
    "misaligned, apart": strided(8, "<f4", 3),
}
MIXED = {
    "big-endian over native": pair("<f4", ">f4"),
    "native over big-endian": pair(">f4", "<f4"),
}
lines = pytest.mark.parametrize("make", LINES.values(), ids=LINES)
numbers = np.random.default_rng(0).integers(-9, 10, 300).astype("f4")


def bytes_of(array: Array) -> bytes:
    """All the memory that the array is a part of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.tobytes()


def refuse(function: Function, x: Array, out: Array, target: Target, message: str) -> None:
    before = bytes_of(x), bytes_of(out)
    with pytest.raises(ValueError, match=message):
        function.call(x, None, 1, out=out, **where(target))
    assert (bytes_of(x), bytes_of(out)) == before


@every_function
@pytest.mark.parametrize("make", [*LINES.values(), *MIXED.values()], ids=[*LINES, *MIXED])
def test_a_part_of_x_is_refused_untouched(
    function: Function, make: Callable[[int], Lines], target: Target
) -> None:
    line, other = make(100)
    line[...] = numbers[:100]
    x = line[20:60].reshape(4, 10)
    if function.several_axes:
        outs = [other[20:24], other[59:63], other[30:26:-1], other[17:21], other[20:60:10]]
    else:
        outs = [other[21:61], other[59:19:-1], other[30:70], other[59:99], other[0:80:2]]
    for out in outs:
        shape = (4,) if function.several_axes else (4, 10)
        refuse(function, x, out.reshape(shape), target, "^out overlaps x without being x itself$")


@every_function
@pytest.mark.parametrize("dtype", ["<f4", ">f4"])
def test_elements_named_twice_are_refused_untouched(
    function: Function, dtype: str, target: Target
) -> None:
    """Steps in bytes, and elements of which only a part is named twice."""
    x = numbers[:40].reshape(4, 10)
    shape = (4,) if function.several_axes else (4, 10)
    ways = [(step,) if function.several_axes else (64, step) for step in (0, 1, 2, 3, -2)]
    if not function.several_axes:
        ways += [(4, 4), (6, 4), (8, 5), (42, 5), (-39, 4)]
    for steps in ways:
        out = np.ndarray(shape, dtype, np.zeros(500, np.uint8), 200, steps)
        message = "^out names some elements twice: shape .*, strides "
        refuse(function, x, out, target, message)


@every_function
@lines
def test_disjoint_bytes_are_fine(
    function: Function, make: Callable[[int], Lines], target: Target
) -> None:
    """Interleaved, side by side, reversed, and elements between the others' bytes."""
    line, _ = make(200)
    values = numbers[:40].reshape(4, 10)
    expected = function.expected(values, None, 1)
    n = expected.size
    for ours, theirs in (
        (slice(0, 80, 2), slice(1, 1 + 2 * n, 2)),
        (slice(0, 40), slice(40, 40 + n)),
        (slice(100, 60, -1), slice(60, 60 - n, -1)),
        (slice(0, 120, 3), slice(2 + 3 * n, 2, -3)),
    ):
        x, out = line[ours].reshape(4, 10), line[theirs].reshape(expected.shape)
        x[...] = values
        for _ in range(2):
            assert function.call(x, None, 1, out=out, **where(target)) is out
            check(function, out.astype("f4"), expected)
            np.testing.assert_array_equal(x, values)


@every_function
def test_fields_of_one_record_are_disjoint(function: Function, target: Target) -> None:
    record = np.zeros((4, 10), [("p", "u1"), ("a", ">f4"), ("b", "<f4")])
    record["a"] = values = numbers[:40].reshape(4, 10)
    expected = function.expected(values, None, 1)
    out = record["b"][:, 3] if function.several_axes else record["b"]
    assert function.call(record["a"], None, 1, out=out, **where(target)) is out
    check(function, out.astype("f4"), expected)
    np.testing.assert_array_equal(record["a"], values)


@in_place
@lines
def test_in_place(function: Function, make: Callable[[int], Lines], target: Target) -> None:
    """x itself, or another array that names the same elements in the same order."""
    values = numbers[:40].reshape(4, 10)
    expected = function.expected(values, None, 1)
    for part in (slice(0, 40), slice(79, 39, -1), slice(5, 85, 2)):
        for again in (False, True):
            line, _ = make(100)
            x = line[part].reshape(4, 10)
            out = line[part].reshape(4, 10) if again else x
            x[...] = values
            assert function.call(x, None, 1, out=out, **where(target)) is out
            check(function, x.astype("f4"), expected)
            assert np.count_nonzero(line) == np.count_nonzero(x)


@pytest.mark.parametrize("call", [gpuport.softmax, gpuport.log_softmax])
@pytest.mark.parametrize("dtype", ["<f4", ">f4"])
@pytest.mark.parametrize(("step", "at"), [(4, 0), (4, 1), (5, 0), (6, 2), (-7, 300)])
def test_over_the_mask_is_refused_untouched(
    call: Callable[..., Any], dtype: str, step: int, at: int, target: Target
) -> None:
    """One byte is enough; the bytes between out's elements are the mask's to have."""
    memory = np.ones(400, np.uint8)
    out = np.ndarray((4, 10), dtype, memory, at, (10 * step, step))
    x = numbers[:40].reshape(4, 10)
    for first in (at, at + 3):
        mask = np.ndarray((4, 10), bool, memory, first, (10 * step, step))
        for mine in (mask, mask[:, :1], mask[3:, 9:]):
            with pytest.raises(ValueError, match=r"^out overlaps mask$"):
                call(x, mask=mine, out=out, **where(target))
            assert (memory == 1).all()
    if abs(step) > 4:
        beside = np.ndarray((4, 10), bool, memory, at + 4, (10 * step, step))
        expected = call(x, mask=beside.copy(), **where(target))
        np.testing.assert_array_equal(call(x, mask=beside, out=out, **where(target)), expected)
        assert beside.all()
