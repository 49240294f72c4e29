"""The kernels that compute what a family is called after, for tests that hold for all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport._dtypes import FLOATS, numpy_dtype
from gpuport.testing import Target
from places import Array, where

NAN, INF = math.nan, math.inf
KERNELS = {
    family: [
        k for k in gpuport.kernels() if k.name.startswith(f"{family}.") and main in k.operations
    ]
    for family, main in (("reduce", "sum"), ("scan", "inclusive_scan"), ("softmax", "softmax"))
}


def variants(family: str) -> pytest.MarkDecorator:
    """One test for each kernel of a family."""
    return pytest.mark.parametrize("kernel", KERNELS[family], ids=lambda k: k.name)


def on(kernel: Any, target: Target) -> dict[str, Any]:
    return where(target, variant=kernel.name.partition(".")[2])


def floats_of(kernel: Any) -> list[Any]:
    return [numpy_dtype(name) for name in kernel.dtypes if name in FLOATS]


def plain(array: Any) -> Array:
    return np.asarray(array).astype(np.float64)
