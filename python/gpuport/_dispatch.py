"""From a call to launches: check everything, bring the operands to the device, run, hand back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuport._arguments import Options, Site, find_site, mask_view, output_of, source_view
from gpuport._backends import Kernel, kernel_table
from gpuport._dtypes import FLOATS
from gpuport._layout import Ints, normalize_axes
from gpuport._session import Session
from gpuport._view import HOST, Output, View, host_array, packed
from gpuport.errors import Error

# The fastest variant by the length of a row: the first line whose bound is not exceeded. A warp a
# row wins while a row is too short to keep a block busy.
_DEFAULT_VARIANTS: dict[str, tuple[tuple[float, str], ...]] = {
    "reduce": ((math.inf, "single_pass"),),
    "softmax": ((1024, "warp_row"), (math.inf, "online_shuffle")),
}


@dataclass(frozen=True, slots=True)
class Operation:
    """What a function computes. `result_dtype` maps the dtype of x, or raises."""

    function: str
    family: str
    op: str
    result_dtype: Callable[[str], str]
    reduces: bool
    any_order: Callable[[str], bool] = lambda dtype: False
    has_identity: bool = True

    def compute_dtype(self, source: str, result: str) -> str:
        """What the kernel reads: softmax of integers is that of their float64 values."""
        return result if self.family == "softmax" else source


def perform(operation: Operation, x: Any, axis: Any, mask: Any, out: Any, options: Options) -> Any:
    function = operation.function
    site = find_site(x, options)
    source = source_view(function, x, site)
    axes = normalize_axes(axis, len(source.shape))
    dtype = operation.result_dtype(source.dtype)
    compute = operation.compute_dtype(source.dtype, dtype)
    length = math.prod(source.shape[d] for d in axes)
    kernel = _choose_kernel(operation, site.work.backend, compute, length, options)
    shape = source.shape
    if operation.reduces:
        shape = tuple(n for d, n in enumerate(shape) if d not in axes)
    if length == 0 and not operation.has_identity:
        raise ValueError(f"{function} of no elements: shape {source.shape}, axis {axis}")
    keep = None if mask is None else mask_view(mask, source, site)
    given = None if out is None else output_of(out, site, dtype, shape, source, keep)

    session = _open_session(site, x)
    if site.is_staged:
        source = session.upload(source, site.work)
        keep = None if keep is None else session.upload(keep, site.work)
    if keep is not None:
        keep = keep.broadcast_to(source.shape)
    if options.nonfinite == "raise":
        if site.native.is_capturing(site.ordinal, site.stream):
            raise Error(f"{function}: nonfinite='raise' waits for the GPU; under capture it cannot")
        _require_finite(function, session, source, keep, axes)

    made: Any = None
    if given is None:
        made, view = site.kind.empty(x, shape, dtype, site.stream)
        output = Output(view)
    else:
        output = given
    target = session.allocate(shape, dtype) if site.is_staged else output.view
    if target.size:
        any_order = operation.any_order(source.dtype)
        if compute != source.dtype:
            source = session.matrix_copy(source, axes, compute)
        session.run(kernel.name, operation.op, source, target, keep, axes, any_order=any_order)
        if site.is_staged:
            np.copyto(host_array(output.view), session.download(target))
        if output.commit is not None:
            output.commit()
    return site.kind.finish(x, made, site.stream) if given is None else out


def _choose_kernel(
    operation: Operation, backend: str, dtype: str, length: int, options: Options
) -> Kernel:
    table = kernel_table(backend)
    prefix = f"{operation.family}."
    variant = options.variant
    if variant is None:
        variant = next(v for limit, v in _DEFAULT_VARIANTS[operation.family] if length <= limit)
    kernel = table.get(prefix + str(variant).removeprefix(prefix))
    if kernel is None:
        known = ", ".join(k.removeprefix(prefix) for k in table if k.startswith(prefix))
        raise ValueError(f"{operation.function} has no variant {variant!r}; there are {known}")
    if dtype not in kernel.dtypes:
        raise ValueError(f"{kernel.name} takes {', '.join(kernel.dtypes)}, not {dtype}")
    if options.deterministic and not kernel.deterministic:
        raise ValueError(f"{kernel.name} is not deterministic")
    return kernel


def _open_session(site: Site, x: Any) -> Session:
    """Scratch comes from the pool of x's library, or of the native module where that has none."""

    def from_library(shape: Ints, dtype: str) -> View:
        return site.kind.empty(x, shape, dtype, site.stream)[1]

    def from_module(shape: Ints, dtype: str) -> View:
        nbytes = packed(0, dtype, shape, site.work, None).nbytes
        buffer = site.native.allocate(nbytes, site.ordinal, site.stream)
        return packed(buffer.address, dtype, shape, site.work, buffer)

    use_module = site.is_staged or not site.kind.has_pool
    allocate = from_module if use_module else from_library
    return Session(site.native, site.ordinal, site.stream, allocate)


def _require_finite(
    function: str, session: Session, x: View, mask: View | None, axes: Ints
) -> None:
    """ValueError for a NaN or infinity that takes part, and for a row of which nothing does."""
    kept = None
    if mask is not None and x.size:
        kept = session.download(mask) if mask.place != HOST else host_array(mask)
        empty_rows = ~kept.any(axis=axes, keepdims=True)
        if empty_rows.any():
            where = _index(int(np.argmax(empty_rows)), empty_rows.shape)
            raise ValueError(f"{function}: the mask leaves nothing of the row at index {where}")
    if x.dtype not in FLOATS:
        return
    first = session.first_nonfinite(x)
    if first >= 0 and kept is not None and not kept.reshape(-1)[first]:
        # The first one is masked out. Rare enough to look for the next on the host.
        values = session.download(x) if x.place != HOST else host_array(x)
        bad = ~np.isfinite(values.astype(np.float64)) & kept
        first = int(np.argmax(bad)) if bad.any() else -1
    if first >= 0:
        raise ValueError(f"{function}: x is not finite at index {_index(first, x.shape)}")


def _index(flat: int, shape: Ints) -> str:
    """A C-order index as a user would write it: 5, or (1, 2)."""
    index = tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()
    return str(index[0]) if len(index) == 1 else str(index)
