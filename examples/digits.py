"""Handwritten digits: sums, maxima and softmax of 1,797 images of 64 pixels, by gpuport.

    python examples/digits.py [--backend cpu|cuda|hip] [--warp-size 32|64]

The images come with scikit-learn, one a row. The results are compared with NumPy and SciPy in
float64; the program fails if they do not agree.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import gpuport

Array = NDArray[Any]


def analyse(pixels: Array, **where: Any) -> dict[str, Array]:
    """What gpuport says of the images; `where` holds the keywords that all its functions take."""
    counts = pixels.astype(np.int32)
    levels = pixels.astype(np.float32)
    return {
        "sum of all pixels": gpuport.sum(counts, **where),
        "ink of each image": gpuport.sum(counts, axis=1, **where),
        "ink of each pixel": gpuport.sum(counts, axis=0, **where),
        "brightest pixel of each image": gpuport.max(levels, axis=1, **where),
        "softmax of each image": gpuport.softmax(levels, axis=1, **where),
        "logsumexp of each image": gpuport.logsumexp(levels, axis=1, **where),
    }


def reference(pixels: Array) -> dict[str, tuple[Array, float]]:
    """The same by NumPy and SciPy, each with the relative distance that is allowed."""
    whole = pixels.astype(np.int64)
    return {
        "sum of all pixels": (np.asarray(whole.sum()), 0),
        "ink of each image": (whole.sum(axis=1), 0),
        "ink of each pixel": (whole.sum(axis=0), 0),
        "brightest pixel of each image": (pixels.max(axis=1), 0),
        "softmax of each image": (scipy.special.softmax(pixels, axis=1), 1e-5),
        "logsumexp of each image": (scipy.special.logsumexp(pixels, axis=1), 1e-6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--backend", choices=["cpu", "cuda", "hip"])
    parser.add_argument("--warp-size", type=int, choices=[32, 64])
    options = parser.parse_args()

    pixels: Array = load_digits().data
    print(
        f"{pixels.shape[0]} images of {pixels.shape[1]} pixels, backend {options.backend or 'cpu'}"
    )
    try:
        results = analyse(pixels, backend=options.backend, warp_size=options.warp_size)
    except (gpuport.BackendUnavailableError, ValueError) as error:
        parser.exit(2, f"{error}\n")

    print(f"{'':30} {'shape':>12} {'first':>12} {'largest relative error':>24}")
    for name, (expected, tolerance) in reference(pixels).items():
        got = results[name]
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=0, err_msg=name)
        off = np.abs(got - expected) / np.maximum(np.abs(expected), np.finfo(float).tiny)
        first = float(np.ravel(got)[0])
        print(f"{name:30} {got.shape!s:>12} {first:12.6g} {float(off.max()):24.2g}")
    print("all agree with NumPy and SciPy")


if __name__ == "__main__":
    main()
