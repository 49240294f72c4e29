"""The functions: reductions, scans, argmax, compaction, segments, the softmax family.

Rules for all of them.

Arrays: NumPy, PyTorch, CuPy, JAX, `gpuport.DeviceArray`, and objects with `__dlpack__` or
`__cuda_array_interface__`. Any number of dimensions, any strides, read-only, empty and 0-d. The
result is a new array of the same kind on the same device, C-contiguous and (except JAX's) writable.
Tensors that require grad are refused unless grad mode is off, since no gradient would flow; so are
arrays without memory for their elements (freed, fake), with a ValueError that names the argument.

dtypes: bool, int8 to int64, uint8 to uint64, float16, bfloat16 (ml_dtypes or the library's own),
float32, float64. Others are a TypeError that names them.

Keywords:
    backend: "cpu", "cuda" or "hip"; where the array lives if None. An array on the host is copied
        to GPU 0 of a backend asked for by name, and the result back. BackendUnavailableError says
        why a backend cannot be used; it never becomes another one.
    variant: a kernel of the family, see `kernels()`; the fastest if None. ValueError for one that
        does not take the dtype.
    warp_size: 32 (the default) or 64 on the CPU; on a GPU only what the device has.
    stream: a raw handle, an object with `__cuda_stream__`, a PyTorch or CuPy stream; the array
        library's current stream if None. Calls on GPU arrays return before the work is done, except
        that JAX and libraries that know no streams get finished results.
    nonfinite: "propagate", or "raise": ValueError naming the first index of x that holds a NaN or
        an infinity and takes part: is not masked out, is kept, belongs to a segment. This waits for
        the device, so it is refused while a graph is captured.
    deterministic: True asks for results that repeat bit for bit; ValueError where the
        variant does not give them.
    out: an array to write to, of the result's dtype (else TypeError), shape and device, which
        overlaps x not at all or is x itself (else ValueError). Its layout does not change the
        values. It is returned. A JAX array is a TypeError.

An error in the arguments is raised before anything is written. Ctrl-C takes effect when the running
call ends.

Ties, NaN, infinities, masks, empty input, overflow and repeatability have the same rules on every
backend and in every variant: gpuport/rules.md, a file of the installed package (docs/rules.md in
the repository), and in a sentence `rules` of each record of `gpuport.kernels()`.
"""

from __future__ import annotations

from gpuport.ops._argmax import argmax, argmin
from gpuport.ops._compact import compact, nonzero
from gpuport.ops._reduce import max, min, sum
from gpuport.ops._scan import exclusive_scan, inclusive_scan
from gpuport.ops._segmented import segmented_max, segmented_min, segmented_sum
from gpuport.ops._softmax import log_softmax, logsumexp, softmax
from gpuport.ops._softmax_state import merge_softmax_states, softmax_state

__all__ = [
    "argmax",
    "argmin",
    "compact",
    "exclusive_scan",
    "inclusive_scan",
    "log_softmax",
    "logsumexp",
    "max",
    "merge_softmax_states",
    "min",
    "nonzero",
    "segmented_max",
    "segmented_min",
    "segmented_sum",
    "softmax",
    "softmax_state",
    "sum",
]
