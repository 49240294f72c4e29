"""From a call to launches: check everything, bring the operands to the device, run, hand back."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

from gpuport._arguments import Options, Site, find_site, mask_view, output_of, source_view
from gpuport._backends import Kernel, kernel_table
from gpuport._dtypes import ALL, FLOAT32_SUMS, FLOATS, REDUCED_FLOATS, WIDE
from gpuport._layout import Ints, normalize_axes
from gpuport._numpy import np
from gpuport._replay import note_operands, note_temporary, watched
from gpuport._session import Session
from gpuport._view import HOST, Output, View, host_array, packed
from gpuport.errors import Error


class Default(NamedTuple):
    """A variant for rows of some lengths, of some dtypes, on some backends."""

    variant: str
    shortest: int = 0
    longest: float = math.inf
    dtypes: tuple[str, ...] = ALL
    backends: tuple[str, ...] = ("cpu", "cuda", "hip")


# The fastest variant that fits: the first of the family that computes the operation, takes the row,
# and repeats bit for bit where the caller asks for that. The pipelined scan wins from a row of
# several tiles for each of an H200's multiprocessors; on AMD it is not measured, and its ring,
# filled without asynchronous copies, is not expected to hide latency as well as many small blocks
# do; on the CPU its service warps only cost time. Rows of softmax stay in the registers of a warp
# or of a block where those hold them, and longer ones are split over blocks; float64 takes four
# times the registers. What none of these computes is left to the first kernel that does, by the
# registry's order.
_DEFAULTS: dict[str, tuple[Default, ...]] = {
    "reduce": (Default("single_pass"),),
    "scan": (
        Default("short_rows", longest=256),
        Default("pipelined", shortest=(1 << 21) + 1, dtypes=WIDE, backends=("cuda",)),
        Default("lookback"),
    ),
    "argmax": (Default("single_pass"),),
    "compact": (
        Default("pipelined", shortest=1 << 18, dtypes=WIDE, backends=("cuda",)),
        Default("two_pass"),
    ),
    "segmented": (Default("merge_path"),),
    "softmax": (
        Default("warp_row", longest=256),
        Default("warp_row", longest=1024, dtypes=REDUCED_FLOATS),
        Default("online_registers", longest=8192),
        Default("online_registers", longest=32768, dtypes=FLOAT32_SUMS),
        Default("online_registers", longest=65536, dtypes=REDUCED_FLOATS),
        Default("split_row"),
    ),
}


class Operation(NamedTuple):
    """What a function computes.

    `result_dtype` maps the dtype of x, or raises. `compute_dtype` maps that and the result's to
    what the kernel reads; where it is not x's own, x is copied and converted. `kernel_op` maps both
    to the operation that a kernel has to compute, where that is not `op`. A kernel that writes
    `results` arrays of one shape and dtype gives a tuple of them; one that also writes `flags` says
    of each result whether it is out of range.
    """

    function: str
    family: str
    op: str
    result_dtype: Callable[[str], str]
    reduces: bool
    any_order: Callable[[str], bool] = lambda dtype: False
    has_identity: bool = True
    compute_dtype: Callable[[str, str], str] = lambda source, result: source
    kernel_op: Callable[[str, str], str] | None = None
    results: int = 1
    flags: bool = False


def perform(operation: Operation, x: Any, axis: Any, mask: Any, out: Any, options: Options) -> Any:
    """A function of rows: along `axis` each gives one result, or as many as it has elements."""
    function = operation.function
    site = find_site(x, options)
    source = source_view(function, x, site)
    axes = normalize_axes(axis, len(source.shape))
    dtype = operation.result_dtype(source.dtype)
    compute = operation.compute_dtype(source.dtype, dtype)
    op = operation.kernel_op(source.dtype, dtype) if operation.kernel_op else operation.op
    length = math.prod(source.shape[d] for d in axes)
    kernel = choose_kernel(function, operation.family, op, site, compute, length, options)
    shape = source.shape
    if operation.reduces:
        shape = tuple(n for d, n in enumerate(shape) if d not in axes)
    if length == 0 and not operation.has_identity:
        raise ValueError(f"{function} of no elements: shape {source.shape}, axis {axis}")
    keep = None if mask is None else mask_view(mask, source, site)
    given = None if out is None else output_of(out, site, dtype, shape, source, keep)

    session = open_session(site, x)
    if site.is_staged:
        source = session.upload(source, site.work)
        keep = None if keep is None else session.upload(keep, site.work)
    if keep is not None:
        keep = keep.broadcast_to(source.shape)
    if operation.flags:
        refuse_capture(site, function, "overflow='raise'")
    if options.nonfinite == "raise":
        refuse_capture(site, function, "nonfinite='raise'")
        if keep is not None:
            _require_something(function, session, keep, axes)
        require_finite(function, session, source, keep)

    def write(*targets: View) -> None:
        note_operands(source, targets[0])
        any_order = operation.any_order(source.dtype)
        x = source if compute == source.dtype else session.matrix_copy(source, axes, compute)

        def run(*into: View) -> None:
            session.run(kernel.name, op, x, into, keep, axes, any_order=any_order)

        if operation.flags:
            (target,) = targets
            result, flags = session.allocate(shape, dtype), session.allocate(shape, "bool")
            run(result, flags)
            _require_in_range(function, session, dtype, flags)
            session.copy(result, target)
        else:
            run(*targets)

    if operation.results > 1:
        return deliver_all(site, session, x, shape, dtype, operation.results, write)
    made = deliver(site, session, x, shape, dtype, write, given)
    return made if given is None else out


def choose_kernel(
    function: str, family: str, op: str, site: Site, dtype: str, length: int, options: Options
) -> Kernel:
    """The variant that was asked for, or the default; ValueError where it cannot take the call."""
    table = kernel_table(site.work.backend)
    prefix = f"{family}."
    if options.variant is None:
        fitting = (
            kernel
            for default in _DEFAULTS[family]
            if op in (kernel := table[prefix + default.variant]).operations
            and default.shortest <= length <= default.longest
            and site.work.backend in default.backends
            and dtype in default.dtypes
            and (dtype in kernel.repeatable or not options.deterministic)
        )
        others = (k for name, k in table.items() if name.startswith(prefix) and op in k.operations)
        found = next(chain(fitting, others), None)
        if found is None:
            raise ValueError(f"{function}: no kernel of this build computes {op}")
        kernel = found
    else:
        name = prefix + str(options.variant).removeprefix(prefix)
        if name not in table:
            known = ", ".join(k.removeprefix(prefix) for k in table if k.startswith(prefix))
            raise ValueError(f"{function} has no variant {options.variant!r}; there are {known}")
        kernel = table[name]
    if op not in kernel.operations:
        able = next(
            (k for k in table if k.startswith(prefix) and op in table[k].operations), "none"
        )
        raise ValueError(
            f"{kernel.name} computes {', '.join(kernel.operations)}, not {op}; {able} does"
        )
    if dtype not in kernel.dtypes:
        raise ValueError(f"{kernel.name} takes {', '.join(kernel.dtypes)}, not {dtype}")
    if options.deterministic and dtype not in kernel.repeatable:
        raise ValueError(f"{kernel.name} is not deterministic for {dtype}")
    return kernel


def open_session(site: Site, x: Any) -> Session:
    """Scratch comes from the pool of x's library, or of the native module where that has none."""

    def from_library(shape: Ints, dtype: str) -> View:
        note_temporary()
        return site.kind.empty(x, shape, dtype, site.stream)[1]

    def from_module(shape: Ints, dtype: str) -> View:
        note_temporary()
        nbytes = packed(0, dtype, shape, site.work, None).nbytes
        buffer = site.native.allocate(nbytes, site.ordinal, site.stream)
        return packed(buffer.address, dtype, shape, site.work, buffer)

    use_module = site.is_staged or not site.kind.has_pool
    allocate = from_module if use_module else from_library
    return Session(watched(site), site.ordinal, site.stream, allocate)


def deliver(
    site: Site,
    session: Session,
    x: Any,
    shape: Ints,
    dtype: str,
    write: Callable[..., None],
    given: Output | None = None,
) -> Any:
    """A new array of x's kind, or the caller's own that is `given`, filled by `write`.

    `write` gets memory on the device, and is not called where there is nothing to write.
    """
    if given is None:
        return deliver_all(site, session, x, shape, dtype, 1, write)[0]
    _fill(site, session, (given,), write)
    return None


def deliver_all(
    site: Site,
    session: Session,
    x: Any,
    shape: Ints,
    dtype: str,
    count: int,
    write: Callable[..., None],
) -> tuple[Any, ...]:
    """So many new arrays of x's kind, all filled by one `write`."""
    made = [site.kind.empty(x, shape, dtype, site.stream) for _ in range(count)]
    _fill(site, session, tuple(Output(view) for _, view in made), write)
    return tuple(site.kind.finish(x, array, site.stream) for array, _ in made)


def _fill(
    site: Site, session: Session, outputs: tuple[Output, ...], write: Callable[..., None]
) -> None:
    views = [output.view for output in outputs]
    if views[0].size == 0:
        return
    targets = [session.allocate(v.shape, v.dtype) for v in views] if site.is_staged else views
    write(*targets)
    for output, target in zip(outputs, targets, strict=True):
        if site.is_staged:
            np.copyto(host_array(output.view), session.download(target))
        if output.commit is not None:
            output.commit()


def refuse_capture(site: Site, function: str, what: str) -> None:
    """Raise an Error for what has to wait while the stream is being captured."""
    if site.native.is_capturing(site.ordinal, site.stream):
        raise Error(f"{function}: {what} waits for the GPU; under capture it cannot")


def require_finite(
    function: str,
    session: Session,
    x: View,
    kept: View | None = None,
    within: tuple[int, int] | None = None,
) -> None:
    """ValueError for a NaN or infinity that takes part.

    That is where `kept` has no zero; or, of an x of one dimension, what lies `within`.
    """
    if x.dtype not in FLOATS:
        return
    start, end = within or (0, x.size)
    first = session.first_nonfinite(x if within is None else x.between(start, end))
    if first >= 0 and kept is not None:
        flags = _on_host(session, kept) != 0
        if not flags.reshape(-1)[first]:
            # The first one takes no part. Rare enough to look for the next on the host.
            bad = ~np.isfinite(_on_host(session, x).astype(np.float64)) & flags
            first = int(np.argmax(bad)) if bad.any() else -1
    if first >= 0:
        raise ValueError(f"{function}: x is not finite at index {_index(start + first, x.shape)}")


def _require_in_range(function: str, session: Session, dtype: str, flags: View) -> None:
    """OverflowError for the first result whose flag is set."""
    flagged = _on_host(session, flags)
    if not flagged.any():
        return
    where = int(np.argmax(flagged))
    row = f" of the row at index {_index(where, flagged.shape)}" if flagged.shape else ""
    raise OverflowError(f"{function}: a running sum{row} leaves {dtype}")


def _require_something(function: str, session: Session, mask: View, axes: Ints) -> None:
    """ValueError for a row of which the mask leaves nothing."""
    if mask.size == 0:
        return
    empty_rows = ~_on_host(session, mask).any(axis=axes, keepdims=True)
    if empty_rows.any():
        where = _index(int(np.argmax(empty_rows)), empty_rows.shape)
        raise ValueError(f"{function}: the mask leaves nothing of the row at index {where}")


def _on_host(session: Session, view: View) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
    return host_array(view) if view.place == HOST else session.download(view)


def _index(flat: int, shape: Ints) -> str:
    """A C-order index as a user would write it: 5, or (1, 2)."""
    index = tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()
    return str(index[0]) if len(index) == 1 else str(index)
