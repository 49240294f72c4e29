"""Calls over one row of elements: compaction, and the segments of a vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpuport._arguments import (
    Options,
    Site,
    check_offsets,
    find_site,
    keep_view,
    offsets_view,
    require_bool,
    require_flags,
    source_view,
)
from gpuport._dispatch import choose_kernel, deliver, open_session, refuse_capture, require_finite
from gpuport._kinds.numpy_kind import view_of
from gpuport._numpy import np
from gpuport._session import Session
from gpuport._view import HOST, View, host_array

# What `count` leaves for the launch that writes: kMostStretches of compact/two_pass.cu.
_STRETCHES = 4096


def compact(function: str, x: Any, keep: Any, options: Options) -> Any:
    """The elements of x that `keep` holds, or without it the indices of those that are not zero."""
    site = find_site(x, options)
    source = source_view(function, x, site)
    if keep is None:
        require_flags(function, "x", source.dtype)
    flags = source if keep is None else keep_view(function, keep, source, site)
    own = flags.is_same_as(source)  # the elements are their own flags
    if options.variant is None and flags.itemsize > 1 and not own:
        options = replace(options, variant="two_pass")  # the only one that reads wider flags
    kernel = choose_kernel(function, "compact", function, site, source.dtype, source.size, options)
    refuse_capture(site, function, "reading the size of the result")

    session = open_session(site, x)
    if site.is_staged:
        flags = session.upload(flags, site.work)
        source = flags if own else session.upload(source, site.work)
    if options.nonfinite == "raise":
        require_finite(function, session, source, flags)
    flags = session.row(flags)
    elements = flags if own else session.row(source)
    one_launch = "count" not in kernel.operations
    # Offsets of stretches, or the number of kept elements.
    scratch = session.allocate((1 if one_launch else _STRETCHES,), "int64")

    def run(op: str, read: View, written: View, mask: View | None) -> None:
        session.native.run(
            kernel.name,
            op,
            1,
            read.size,
            read.row(),
            written.row(),
            None if mask is None else mask.row(),
            session.ordinal,
            session.stream,
            scratch.row(),
        )

    kept = 0
    room: View | None = None
    if one_launch and flags.size:
        # The launch that finds out how many are kept writes them too. They go to scratch first: a
        # result that is a part of a larger array would hold on to all of its memory.
        room = session.allocate((flags.size,), source.dtype)
        run("compact", elements, room, flags)
        kept = int(session.download(scratch)[0])
    elif flags.size:
        total = session.allocate((1,), "int64")
        run("count", flags, total, None)
        kept = int(session.download(total)[0])

    def write(target: View) -> None:
        if room is not None:
            session.copy(room._replace(shape=(kept,)), target)
        elif keep is None:
            run("nonzero", flags, target, None)
        else:
            run("compact", elements, target, flags)

    dtype = "int64" if keep is None else source.dtype
    return deliver(site, session, x, (kept,), dtype, write)


def segmented(
    function: str,
    op: str,
    result_dtype: Callable[[str], str],
    x: Any,
    offsets: Any,
    check: bool,
    options: Options,
) -> Any:
    """Each segment of x folded to one element."""
    require_bool("check", check)
    site = find_site(x, options)
    source = source_view(function, x, site)
    if len(source.shape) != 1:
        raise ValueError(f"{function}: x must have one dimension, not {len(source.shape)}")
    ends = offsets_view(function, offsets, site, source.size)
    dtype = result_dtype(source.dtype)
    kernel = choose_kernel(function, "segmented", op, site, source.dtype, source.size, options).name
    session = open_session(site, x)
    if check:
        if ends.place != HOST:
            refuse_capture(site, function, "checking offsets on the device")
        check_offsets(function, _values(session, ends), source.size)
    positions = _positions(function, site, session, ends)
    if site.is_staged:
        source = session.upload(source, site.work)
    if options.nonfinite == "raise":
        refuse_capture(site, function, "nonfinite='raise'")
        require_finite(function, session, source, within=_extent(session, ends, source.size))
    row = session.row(source)

    def write(target: View) -> None:
        session.native.run(
            kernel,
            op,
            target.size,
            row.size,
            row.row(),
            target.matrix(0, 1, 0),
            None,
            session.ordinal,
            session.stream,
            positions.row(),
        )

    return deliver(site, session, x, (ends.size - 1,), dtype, write)


def _extent(session: Session, offsets: View, length: int) -> tuple[int, int]:
    """From where to where x belongs to segments. Offsets that nobody checked lead no further."""
    (stride,) = offsets.strides
    ends = offsets._replace(shape=(2,), strides=((offsets.size - 1) * stride,))
    first, last = (min(max(int(end), 0), length) for end in _values(session, ends))
    return first, max(first, last)


def _values(session: Session, view: View) -> np.ndarray[Any, np.dtype[Any]]:
    return host_array(view) if view.place == HOST else session.download(view)


def _positions(function: str, site: Site, session: Session, offsets: View) -> View:
    """The offsets where the kernels run, as contiguous int64."""
    if offsets.place == HOST:
        host = view_of(np.ascontiguousarray(host_array(offsets), np.int64))
        if site.work == HOST:
            return host
        refuse_capture(site, function, "copying offsets from the host")
        return session.upload(host, site.work)
    if offsets.dtype == "int64" and offsets.strides == (1,):
        return offsets
    return session.matrix_copy(offsets, (0,), "int64")
