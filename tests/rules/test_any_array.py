"""Random shapes, strides, dtypes and values for every function against NumPy and SciPy.

On the CPU each run draws anew; on a GPU a fixed subset is drawn, whose operands lie on the device
with the strides that were drawn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from functions import FUNCTIONS, TOLERANCE, Function, check, operand_beside, whole_numbers
from gpuport._dtypes import FLOATS, numpy_dtype
from gpuport.testing import Target
from places import Array, place, where

every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)


def view_of(draw: Any, array_of: Any, shape: tuple[int, ...]) -> Array:
    """An array of a shape in any layout that slicing, broadcasting and transposing give."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2, 0])) for _ in shape]
    extents = [1 if s == 0 else shape[d] * abs(s) for d, s in zip(order, steps, strict=True)]
    lead = draw(st.integers(0, 3))  # the first element is at an odd place as often as not
    memory = array_of((math.prod(extents) + lead,))[lead:].reshape(extents)
    view = memory[(*(slice(None, None, step or None) for step in steps), ...)]
    view = np.broadcast_to(view, [shape[d] for d in order])
    return view.transpose([order.index(d) for d in range(len(shape))])


@st.composite
def values(draw: Any, dtype: str) -> Any:
    """How to fill memory: whole numbers, or for a float numbers with NaN and infinities."""
    seed = draw(st.integers(0, 999))
    special = draw(st.sampled_from(["", "", "", "nan", "inf", "-inf"])) if dtype in FLOATS else ""

    def array_of(shape: tuple[int, ...]) -> Array:
        array = whole_numbers(shape, dtype, seed)
        if special and array.size:
            array[seed % array.size] = float(special)
        return array

    return array_of


@st.composite
def problems(draw: Any, function: Function) -> tuple[Array, Array | None, Any]:
    dtype = draw(st.sampled_from(function.dtypes))
    array_of = draw(values(dtype))
    if function.kind == "segments":
        size = draw(st.one_of(st.integers(0, 80), st.integers(0, 5000)))
        x = view_of(draw, array_of, (size,))
        return x, operand_beside(function, (size,), draw(st.integers(0, 99))), None
    few = st.lists(st.integers(0, 7), max_size=4).map(tuple)
    long = st.tuples(st.integers(1, 3), st.integers(1, 3000))
    shape = draw(st.one_of(few, long))
    x = view_of(draw, array_of, shape)
    beside = operand_beside(function, shape, draw(st.integers(0, 99)))
    if beside is not None and function.beside == "mask" and draw(st.booleans()):
        beside = None
    elif beside is not None:
        kept = beside.copy()
        beside = view_of(draw, lambda size: np.resize(kept, size), shape)
    if function.kind == "flat" or not shape:
        return x, beside, None
    axes = [st.none(), st.integers(-len(shape), len(shape) - 1)]
    if function.several_axes:
        axes.append(st.sets(st.integers(0, len(shape) - 1)).map(lambda a: tuple(sorted(a))))
    return x, beside, draw(st.one_of(axes))


def compare(function: Function, problem: tuple[Array, Array | None, Any], target: Target) -> None:
    x, beside, axis = problem
    with np.errstate(all="ignore"):
        try:
            expected = function.expected(np.array(x), beside, axis)
        except ValueError:  # the extreme of no elements
            with pytest.raises(ValueError, match="of no elements"):
                call(function, problem, target)
            return
        check(function, call(function, problem, target), expected)


def call(function: Function, problem: tuple[Array, Array | None, Any], target: Target) -> Any:
    x, beside, axis = problem
    next_to = None if beside is None else place(target, beside)
    return function.call(place(target, x), next_to, axis, **where(target))


@every_function
@settings(deadline=None, max_examples=40)  # a shared machine stalls
@given(data=st.data(), wide=st.booleans())
def test_on_the_cpu(function: Function, data: st.DataObject, wide: bool) -> None:
    compare(function, data.draw(problems(function)), Target("cpu", 64 if wide else 32))


@every_function
@settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=25,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_fixed_subset(function: Function, data: st.DataObject, target: Target) -> None:
    compare(function, data.draw(problems(function)), target)


def test_the_tolerances_are_for_every_float() -> None:
    assert set(TOLERANCE) == set(FLOATS)
    assert all(TOLERANCE[name] >= np.finfo(numpy_dtype(name)).eps
               for name in ("float16", "float32", "float64"))  # fmt: skip
