"""`out=`: what it must be, that its layout never shows in the values, what is refused untouched."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuport
from gpuport._dtypes import numpy_dtype

X = np.random.default_rng(0).normal(size=(6, 10)).astype(np.float32)

OUTPUTS = {
    "contiguous": lambda shape, dtype: np.empty(shape, dtype),
    "fortran": lambda shape, dtype: np.empty(shape, dtype, order="F"),
    "every second": lambda shape, dtype: np.empty([2 * n for n in shape], dtype)[
        (*(slice(None, None, 2) for _ in shape), ...)
    ],
    "reversed": lambda shape, dtype: np.empty(shape, dtype)[
        (*(slice(None, None, -1) for _ in shape), ...)
    ],
    "big endian": lambda shape, dtype: np.empty(shape, np.dtype(dtype).newbyteorder(">")),
    "packed field": lambda shape, dtype: np.zeros(shape, [("a", "u1"), ("b", dtype)])["b"],
}


ROWS = [gpuport.sum, gpuport.max, gpuport.softmax, gpuport.log_softmax, gpuport.inclusive_scan]


@pytest.mark.parametrize("layout", OUTPUTS)
@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_layout_of_out_does_not_change_bits(layout: str, axis: int | None) -> None:
    x = np.random.default_rng(1).normal(size=(5, 6, 70)).astype(np.float32)
    for view in (x, x.T, x[:, ::-1, ::2]):
        for call in ROWS:
            expected = call(view, axis=axis)
            out = OUTPUTS[layout](expected.shape, np.float32)
            assert call(view, axis=axis, out=out) is out
            assert out.astype(np.float32).tobytes() == expected.tobytes()


# A column of float16 whose softmax has a bit more or less where its sum is rescaled on the way.
CLOSE = (
    *(2.537, -1.138, -0.696, 2.12, -1.108, -0.437, 1.516, 1.606),
    *(0.2573, 1.606, 2.926, 3.727, 3.05, -2.32, 4.918, -3.834),
)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("elements", [2, 4, 7, 8, 9, 12, 16, 17, 32])
def test_layout_of_out_does_not_change_bits_along_the_first_axis(elements: int, dtype: str) -> None:
    """Few elements, of rows that a lane takes as vectors where the input allows it."""
    random = np.random.default_rng(elements).normal(size=(elements, 2048)) * 3
    random[:16, :16] = np.array(CLOSE)[:elements, None]
    x = random.astype(numpy_dtype(dtype))
    outputs = (
        np.empty((elements, 2049), x.dtype)[:, :2048],
        np.empty((elements, 2056), x.dtype)[:, 1:2049],
        np.empty((elements, 4096), x.dtype)[:, ::2],
        np.empty((elements, 2048), x.dtype)[:, ::-1],
        np.empty((2048, elements), x.dtype).T,
    )
    for call in (gpuport.softmax, gpuport.log_softmax, gpuport.sum):
        options = {"dtype": dtype} if call is gpuport.sum else {}
        expected = call(x, axis=0, **options)
        for out in outputs:
            into = out[0] if call is gpuport.sum else out
            call(x, axis=0, out=into, **options)
            assert into.tobytes() == expected.tobytes(), (call.__name__, out.strides)


def test_gaps_of_a_strided_out_are_left_alone() -> None:
    memory = np.full((6, 20), 7, np.float32)
    gpuport.softmax(X, out=memory[:, ::2])
    assert (memory[:, 1::2] == 7).all()
    memory = np.full((40,), 7, np.float32)
    gpuport.sum(X, axis=0, out=memory[5:25:2])
    assert (memory[6:26:2] == 7).all()
    assert (memory[25:] == 7).all()


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("layout", [lambda a: a, lambda a: a.T, lambda a: a[::-1, ::2]])
def test_in_place(layout, axis: int | None) -> None:
    x = layout(X.copy())
    expected = gpuport.softmax(x, axis=axis)
    assert gpuport.softmax(x, axis=axis, out=x) is x
    np.testing.assert_array_equal(x, expected)


def test_out_of_another_dtype_or_shape_is_refused_untouched() -> None:
    for out, error in (
        (np.full(6, 7, np.float64), TypeError),
        (np.full(6, 7, np.int32), TypeError),
        (np.full(7, 7, np.float32), ValueError),
        (np.full((6, 1), 7, np.float32), ValueError),
        (np.full((), 7, np.float32), ValueError),
    ):
        with pytest.raises(error, match="out"):
            gpuport.sum(X, axis=1, out=out)
        assert (out == 7).all()


def test_out_follows_the_dtype_argument() -> None:
    x = np.arange(5, dtype=np.int32)
    with pytest.raises(TypeError, match="float64"):
        gpuport.sum(x, dtype="float64", out=np.empty((), np.int64))
    assert gpuport.sum(x, dtype="float64", out=np.empty(())) == 10
    assert gpuport.sum(x, out=np.empty((), np.int64)) == 10
    half = np.ones(4, ml_dtypes.bfloat16)
    assert gpuport.sum(half, out=np.empty((), ml_dtypes.bfloat16)) == 4


def test_read_only_out() -> None:
    out = np.zeros(6, np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gpuport.sum(X, axis=1, out=out)


@pytest.mark.parametrize("out", [[0.0] * 6, 3.0, np.ma.zeros(6, np.float32)])
def test_out_that_is_no_array(out: object) -> None:
    with pytest.raises(TypeError, match="out"):
        gpuport.sum(X, axis=1, out=out)


def test_partial_overlap_is_refused_untouched() -> None:
    memory = np.arange(100, dtype=np.float32)
    before = memory.copy()
    x = memory[:60].reshape(6, 10)
    for out in (memory[10:70].reshape(6, 10), memory[:60].reshape(10, 6).T, x[::-1], x[:, ::-1]):
        with pytest.raises(ValueError, match="overlaps"):
            gpuport.softmax(x, out=out if out.shape == x.shape else out.T)
    with pytest.raises(ValueError, match="overlaps"):
        gpuport.sum(x, axis=0, out=x[0])
    np.testing.assert_array_equal(memory, before)


def test_neighbours_that_share_no_element_are_fine() -> None:
    memory = np.random.default_rng(3).normal(size=(8, 20)).astype(np.float32)
    for x, out in (
        (memory[:, :10], memory[:, 10:]),
        (memory[:, ::2], memory[:, 1::2]),
        (memory[:4], memory[4:]),
    ):
        expected = gpuport.softmax(x)
        gpuport.softmax(x, out=out)
        np.testing.assert_array_equal(out, expected)


def test_out_that_repeats_elements_is_refused() -> None:
    shared = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (6,), (0,))
    with pytest.raises(ValueError, match="twice"):
        gpuport.sum(X, axis=1, out=shared)


def test_out_over_the_mask_is_refused() -> None:
    memory = np.ones(240, np.uint8)
    mask = memory[:60].view(bool).reshape(6, 10)
    with pytest.raises(ValueError, match="overlaps mask"):
        gpuport.softmax(X, mask=mask, out=memory.view(np.float32).reshape(6, 10))
    assert (memory == 1).all()


def test_empty_out() -> None:
    out = np.empty((0, 5), np.float32)
    assert gpuport.softmax(np.empty((0, 5), np.float32), out=out) is out
    out = np.full(5, 7, np.float32)
    gpuport.sum(np.empty((0, 5), np.float32), axis=0, out=out)
    assert (out == 0).all()


@settings(deadline=None)  # a shared machine stalls
@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    data=st.data(),
    op=st.sampled_from(["sum", "max", "softmax", "exclusive_scan"]),
)
def test_any_layout_of_both(shape: list[int], data: st.DataObject, op: str) -> None:
    def laid_out(extents: tuple[int, ...]) -> np.ndarray:
        order = data.draw(st.permutations(range(len(extents))))
        steps = [data.draw(st.sampled_from([1, 2, -1, -2])) for _ in extents]
        memory = np.zeros([extents[d] * abs(steps[d]) for d in order], np.float32)
        array = memory.transpose([order.index(d) for d in range(len(extents))])
        return array[(*(slice(None, None, step) for step in steps), ...)]

    x = laid_out(tuple(shape))
    x[...] = np.random.default_rng(0).normal(size=x.shape)
    axis = data.draw(st.integers(0, x.ndim - 1))
    call = getattr(gpuport, op)
    expected = call(x.copy(), axis=axis)
    out = laid_out(expected.shape)
    call(x, axis=axis, out=out)
    if op == "softmax":  # which kernel takes a row depends on x's layout
        np.testing.assert_allclose(out, expected, rtol=2e-6)
    else:
        np.testing.assert_array_equal(out, expected)
