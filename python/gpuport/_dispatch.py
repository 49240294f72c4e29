"""From the arguments of a call to launches: everything is checked before anything is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuport._backends import Kernel, kernel_table, ordinals, usable_module
from gpuport._dtypes import FLOATS, require_supported
from gpuport._kinds import Kind
from gpuport._layout import Ints, normalize_axes, repeats_elements
from gpuport._native import NativeModule
from gpuport._session import Session
from gpuport._view import HOST, Output, Place, View, host_array, packed
from gpuport.arrays import kind_of, resolve_stream
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


@dataclass(frozen=True, slots=True)
class Options:
    """The keywords that all functions take."""

    backend: str | None
    variant: str | None
    warp_size: int | None
    stream: Any
    nonfinite: str
    deterministic: bool | None = None


def perform(operation: Operation, x: Any, axis: Any, mask: Any, out: Any, options: Options) -> Any:
    function = operation.function
    kind = kind_of(x, "x")
    home = kind.place(x)
    _check_options(options)
    backend, native = _choose_backend(function, home, options.backend)
    staged = home == HOST and backend != "cpu"
    work = Place(backend, 0) if staged else home
    ordinal = _ordinal(work, options.warp_size)
    stream = resolve_stream(options.stream, kind, x, work)

    source = kind.view(x, "x", stream)
    require_supported(source.dtype, function)
    source = _aligned(source, "x")
    axes = normalize_axes(axis, len(source.shape))
    dtype = operation.result_dtype(source.dtype)
    compute = source.dtype if operation.family != "softmax" else dtype
    kernel = _choose_kernel(operation, backend, compute, _extent(source.shape, axes), options)
    shape = source.shape
    if operation.reduces:
        shape = tuple(n for d, n in enumerate(shape) if d not in axes)
        if not operation.has_identity and _extent(source.shape, axes) == 0:
            raise ValueError(f"{function} of no elements: shape {source.shape}, axis {axis}")
    keep = None if mask is None else _mask_view(mask, source, home, stream)
    given = None if out is None else _output(out, home, stream, dtype, shape, source, keep)

    if staged:
        session = Session(native, ordinal, stream, _native_allocator(native, work, ordinal))
        source = session.upload(source, work)
        keep = None if keep is None else session.upload(keep, work)
    else:
        session = Session(native, ordinal, stream, lambda s, d: kind.empty(x, s, d, stream)[1])
    if keep is not None:
        keep = keep.broadcast_to(source.shape)
    if options.nonfinite == "raise":
        if native.is_capturing(ordinal, stream):
            raise Error(
                f"{function}: nonfinite='raise' must wait for the GPU, under capture it cannot"
            )
        _require_finite(function, session, source, keep, axes)

    made, output = None, given
    if output is None:
        made, view = kind.empty(x, shape, dtype, stream)
        output = Output(view)
    target = session.allocate(shape, dtype) if staged else output.view
    if target.size:
        if compute != source.dtype:
            source = session.matrix_copy(source, axes, compute)
        session.run(
            kernel.name,
            operation.op,
            source,
            target,
            keep,
            axes,
            any_order=operation.any_order(source.dtype),
        )
        if staged:
            np.copyto(host_array(output.view), session.download(target))
        if output.commit is not None:
            output.commit()
    return kind.finish(x, made) if given is None else out


def _check_options(options: Options) -> None:
    if options.nonfinite not in ("propagate", "raise"):
        raise ValueError(f"nonfinite must be 'propagate' or 'raise', not {options.nonfinite!r}")
    if options.deterministic is not None and options.deterministic is not True:
        raise ValueError(f"deterministic must be None or True, not {options.deterministic!r}")


def _choose_backend(function: str, home: Place, asked: str | None) -> tuple[str, NativeModule]:
    name = home.backend if asked is None else asked
    native = usable_module(name)
    if home != HOST and name != home.backend:
        raise ValueError(
            f"{function}: backend={name!r}, but x is on {home}; copy it to the host first"
        )
    return name, native


def _ordinal(work: Place, asked: int | None) -> int:
    """The native device. The CPU has one for each warp size, the first of 32 lanes."""
    sizes = ordinals(work.backend, work.device)
    size = next(iter(sizes)) if asked is None else asked
    if isinstance(size, bool) or size not in sizes:
        has = " and ".join(str(s) for s in sorted(sizes))
        raise ValueError(f"warp_size={asked!r}: {work} has warps of {has} lanes")
    return sizes[size]


def _extent(shape: Ints, axes: Ints) -> int:
    return math.prod(shape[d] for d in axes)


def _choose_kernel(
    operation: Operation, backend: str, dtype: str, cols: int, options: Options
) -> Kernel:
    table = kernel_table(backend)
    prefix = f"{operation.family}."
    variant = options.variant
    if variant is None:
        variant = next(v for limit, v in _DEFAULT_VARIANTS[operation.family] if cols <= limit)
    kernel = table.get(prefix + str(variant).removeprefix(prefix))
    if kernel is None:
        known = ", ".join(k.removeprefix(prefix) for k in table if k.startswith(prefix))
        raise ValueError(f"{operation.function} has no variant {variant!r}; there are {known}")
    if dtype not in kernel.dtypes:
        raise ValueError(f"{kernel.name} takes {', '.join(kernel.dtypes)}, not {dtype}")
    if options.deterministic and not kernel.deterministic:
        raise ValueError(f"{kernel.name} is not deterministic")
    return kernel


def _aligned(view: View, argument: str) -> View:
    """The view, or a copy where its elements are not aligned. NumPy's arrays come aligned."""
    if view.address % view.itemsize == 0:
        return view
    if view.place != HOST:
        raise ValueError(f"{argument} is not aligned to its elements; copy it first")
    copy = np.array(host_array(view), order="C")
    return packed(copy.ctypes.data, view.dtype, view.shape, HOST, copy)


def _mask_view(mask: Any, source: View, home: Place, stream: int) -> View:
    kind = kind_of(mask, "mask")
    if kind.place(mask) != home:
        raise ValueError(f"mask is on {kind.place(mask)}, x on {home}")
    view = kind.view(mask, "mask", stream)
    if view.dtype != "bool":
        raise TypeError(f"mask must be boolean, not {view.dtype}")
    try:
        view.broadcast_to(source.shape)
    except ValueError:
        raise ValueError(
            f"mask of shape {view.shape} does not broadcast to x of shape {source.shape}"
        ) from None
    return view


def _output(
    out: Any, home: Place, stream: int, dtype: str, shape: Ints, source: View, mask: View | None
) -> Output:
    kind: Kind = kind_of(out, "out")
    if kind.place(out) != home:
        raise ValueError(f"out is on {kind.place(out)}, x on {home}")
    output = kind.output(out, "out", stream)
    view = output.view
    if view.dtype != dtype:
        raise TypeError(f"out has dtype {view.dtype}, the result is {dtype}")
    if view.shape != shape:
        raise ValueError(f"out has shape {view.shape}, the result is {shape}")
    if view.address % view.itemsize:
        raise ValueError("out is not aligned to its elements")
    if repeats_elements(view.shape, view.strides):
        raise ValueError(
            f"out names some elements twice: shape {view.shape}, strides {view.strides}"
        )
    if view.overlaps(source) and not view.is_same_as(source):
        raise ValueError("out overlaps x without being x itself")
    if mask is not None and view.overlaps(mask):
        raise ValueError("out overlaps mask")
    return output


def _native_allocator(
    native: NativeModule, work: Place, ordinal: int
) -> Callable[[Ints, str], View]:
    def allocate(shape: Ints, dtype: str) -> View:
        empty = packed(0, dtype, shape, work, None)
        buffer = native.allocate(max(empty.size * empty.itemsize, 1), ordinal)
        return packed(buffer.address, dtype, shape, work, buffer)

    return allocate


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
