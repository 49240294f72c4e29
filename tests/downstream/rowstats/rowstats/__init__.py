"""Statistics of rows, on whichever backend has the array."""

import gpuport

kernels = gpuport.select(__name__)


def histogram(x, bins, warp_size=None):
    """Counts of the 256 values of a uint8 array, into a uint32 array."""
    kernels.histogram(x, bins, kernels.ordinal(x, warp_size=warp_size))


def row_sums(x, sums, lanes, warp_size=None):
    """Sums of the rows of a float32 matrix, and by warps of how many lanes."""
    kernels.row_sums(x, sums, lanes, kernels.ordinal(x, warp_size=warp_size))
