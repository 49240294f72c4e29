"""Shapes and strides: merging axes, cutting into launches, telling overlaps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuport import _layout
from gpuport._kinds.numpy_kind import view_of


def test_contiguous_array_is_one_launch() -> None:
    plan = _layout.plan((3, 4, 5), (2,), [(20, 5, 1), (4, 1, 0)])
    assert plan == [_layout.Launch(12, 5, (0, 0), (5, 1), (1, 0))]


def test_middle_axis_is_one_launch_for_each_outer_index() -> None:
    plan = _layout.plan((3, 4, 50), (1,), [(200, 50, 1), (50, 0, 1)])
    assert plan is not None
    assert [(m.rows, m.cols, m.offsets) for m in plan] == [
        (50, 4, (0, 0)),
        (50, 4, (200, 50)),
        (50, 4, (400, 100)),
    ]


def test_too_many_launches_ask_for_a_packed_copy() -> None:
    assert _layout.plan((100, 4, 150), (1,), [(600, 150, 1), (150, 0, 1)]) is None


def test_axes_of_one_element_may_have_any_stride() -> None:
    plan = _layout.plan((1, 77, 1), (1,), [(-5, 1, 999), (3, 0, 4)])
    assert plan == [_layout.Launch(1, 77, (0, 0), (0, 0), (1, 0))]


def test_order_is_free_where_the_operation_allows() -> None:
    operands = [(1, 10), (0, 0)]
    assert _layout.plan((10, 7), (0, 1), operands) is None
    plan = _layout.plan((10, 7), (0, 1), operands, any_order=True)
    assert plan == [_layout.Launch(1, 70, (0, 0), (0, 0), (1, 0))]


@pytest.mark.parametrize(
    ("axis", "ndim", "axes"),
    [
        (None, 3, (0, 1, 2)),
        (-1, 3, (2,)),
        ((2, 0), 3, (0, 2)),
        ((), 3, ()),
        (0, 0, ()),
        (-1, 0, ()),
        (np.int64(1), 2, (1,)),
    ],
)
def test_axes(axis: object, ndim: int, axes: tuple[int, ...]) -> None:
    assert _layout.normalize_axes(axis, ndim) == axes


@pytest.mark.parametrize(
    ("axis", "error"),
    [
        (3, ValueError),
        (-4, ValueError),
        ((1, 1), ValueError),
        ((1, -2), ValueError),
        (1.0, TypeError),
        (True, TypeError),
        ("0", TypeError),
    ],
)
def test_wrong_axes(axis: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="axis"):
        _layout.normalize_axes(axis, 3)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape, and strides that often fit together: a permuted, stepped or broadcast array's."""
    ndim = draw(st.integers(0, 4))
    shape = tuple(draw(st.integers(1, 5)) for _ in range(ndim))
    order = draw(st.permutations(range(ndim)))
    packed = _layout.contiguous_strides([shape[d] for d in order])
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1, 0])) for _ in range(ndim)]
    return shape, tuple(packed[order.index(d)] * steps[d] for d in range(ndim))


@settings(deadline=None)  # a shared machine stalls
@given(layout=layouts(), data=st.data())
def test_launches_visit_each_element_once_and_in_order(layout, data) -> None:
    shape, strides = layout
    every = list(range(len(shape)))
    axes = tuple(d for d in every if data.draw(st.booleans()))
    kept = [d for d in every if d not in axes]
    packed = _layout.contiguous_strides([shape[d] for d in kept])
    out = tuple(packed[kept.index(d)] if d in kept else 0 for d in every)
    plan = _layout.plan(shape, axes, [strides, out])
    if plan is None:
        return
    rows: dict[int, list[int]] = {}
    for m in plan:
        for r in range(m.rows):
            row = [
                m.offsets[0] + r * m.row_strides[0] + c * m.col_strides[0] for c in range(m.cols)
            ]
            assert rows.setdefault(m.offsets[1] + r * m.row_strides[1], row) is row

    def offsets(dims: list[int]) -> list[int]:
        ranges = [range(shape[d]) for d in dims]
        return [
            sum(i * strides[d] for i, d in zip(index, dims, strict=True))
            for index in product(*ranges)
        ]

    along = offsets(list(axes))
    assert [rows[i] for i in sorted(rows)] == [
        [start + step for step in along] for start in offsets(kept)
    ]
    assert sorted(rows) == list(range(len(rows)))


@settings(deadline=None)
@given(layout=layouts())
def test_packed_copies_always_form_a_matrix(layout) -> None:
    shape, _ = layout
    for axes in ((), tuple(range(len(shape))), tuple(range(0, len(shape), 2))):
        strides = _layout.matrix_strides(shape, axes)
        assert _layout.plan(shape, axes, [strides], limit=1) is not None


@settings(deadline=None)
@given(layout=layouts())
def test_repeated_elements_are_found(layout) -> None:
    shape, strides = layout
    seen = [
        sum(i * s for i, s in zip(index, strides, strict=True))
        for index in product(*map(range, shape))
    ]
    if len(set(seen)) != len(seen):
        assert _layout.repeats_elements(shape, strides)


@settings(deadline=None)
@given(layout=layouts(), data=st.data())
def test_slices_repeat_no_elements(layout, data) -> None:
    shape, _ = layout
    array = np.empty(shape, np.int8).transpose(data.draw(st.permutations(range(len(shape)))))
    for d in range(array.ndim):
        step = data.draw(st.sampled_from([1, 2, -1, -3]))
        array = array[(slice(None),) * d + (slice(None, None, step),)]
    assert not _layout.repeats_elements(array.shape, array.strides)


BASE = np.arange(60, dtype=np.int32).reshape(6, 10)


@pytest.mark.parametrize(
    ("a", "b", "overlap"),
    [
        (BASE, BASE, True),
        (BASE[:3], BASE[3:], False),
        (BASE[:, :5], BASE[:, 5:], False),
        (BASE[:, ::2], BASE[:, 1::2], False),
        (BASE[:, :6], BASE[:, 5:], True),
        (BASE[::-1], BASE[0], True),
        (BASE, BASE.view(np.int16)[:, 1::2], True),
        (BASE.view(np.int16)[:, ::2], BASE.view(np.int16)[:, 1::2], False),
        (BASE, BASE.copy(), False),
        (BASE, BASE[:0], False),
    ],
)
def test_overlap(a: np.ndarray, b: np.ndarray, overlap: bool) -> None:
    assert view_of(a).overlaps(view_of(b)) is overlap
    assert view_of(b).overlaps(view_of(a)) is overlap
