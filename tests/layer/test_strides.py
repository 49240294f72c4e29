"""Kernels with grids of two blocks: what the grid does not cover at once is not left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

Layer = Any  # a device of one backend; see conftest.py


@pytest.mark.parametrize("shape", [(7, 1300), (200, 3), (1, 4000), (300, 70), (40, 8192)])
def test_blocks_stride_over_the_rest(strides: Layer, shape: tuple[int, int]) -> None:
    rows, cols = shape
    x = np.random.default_rng(cols).integers(-9, 10, shape).astype(np.float32)
    count = strides.library.layer_kernels()
    assert count == 11
    for index in range(count):
        name = strides.library.layer_kernel(index).decode()
        family = name.partition(".")[0]
        out = np.full((rows,) if family == "reduce" else shape, np.nan, np.float32)
        elements = np.ascontiguousarray(x.T) if name.endswith("side by side") else x
        strides.call("layer_run", index, rows, cols, elements, out)
        if family == "reduce":
            np.testing.assert_array_equal(out, x.sum(axis=1), name)
        elif family == "scan":
            np.testing.assert_array_equal(out, np.cumsum(x, axis=1), name)
        else:
            expected = scipy.special.softmax(x.astype(np.float64), axis=1)
            np.testing.assert_allclose(out, expected, rtol=2e-6, atol=2e-6, err_msg=name)
