"""gpuport's own kernels as prepared native calls: what the public functions enqueue."""

from types import SimpleNamespace
from typing import Any

from gpuport._arguments import Options
from gpuport._backends import kernel_table
from gpuport._dispatch import choose_kernel
from gpuport._view import Place
from gpuport.bench.rig import BufferSet, Rig
from gpuport.specs.workloads import FIRST_AXIS, Workload


class UnsupportedError(Exception):
    """This library or variant has nothing for this call; the message says why."""


Steps = list[Any]  # what NativeModule.time_calls takes as one call


def kernel_for(name: str, work: Workload, rig: Rig) -> str:
    """The kernel behind a name: itself, or what the public function takes where it is `default`.

    Raises:
        UnsupportedError: the variant does not take the dtype.
    """
    family, _, variant = name.partition(".")
    named = None if variant == "default" else variant
    wide_flags = work.keep is not None and work.keep is not work.x and work.keep.itemsize > 1
    if named is None and family == "compact" and wide_flags:
        named = "two_pass"  # as the public function does
    options = Options(None, named, None, None, "propagate")
    site: Any = SimpleNamespace(work=Place(rig.backend, rig.device))
    try:
        return choose_kernel(
            work.op, family, work.op, site, work.shape.dtype, work.cols, options
        ).name
    except ValueError as error:
        raise UnsupportedError(str(error)) from None


def resolved(name: str, work: Workload, rig: Rig) -> str:
    """As `kernel_for`, for a table that also shows what cannot run."""
    try:
        return kernel_for(name, work, rig)
    except UnsupportedError:
        return name


def own_steps(kernel: str, work: Workload, each: BufferSet, rig: Rig) -> Steps:
    """The native calls of one call of the public function, without its allocations and waits."""

    def prepare(op: str, source: Any, target: Any, mask: Any = None, scratch: Any = None) -> Any:
        return rig.native.prepare(
            kernel, op, rows, work.cols, source, target, mask, rig.ordinal, rig.stream, scratch
        )

    rows = work.rows
    x, out, result = each.x, each.out, work.result
    row = (x.address, x.dtype, 0, 1)
    strides = (1, rows) if work.shape.pattern == FIRST_AXIS else (work.cols, 1)
    match work.family:
        case "compact":
            assert each.keep is not None
            flags = (each.keep.address, each.keep.dtype, 0, 1)
            count = (each.count.address, "int64", 0, 1)
            scratch = (each.scratch.address, "int64", 0, 1)
            if "count" not in kernel_table(rig.backend)[kernel].operations:  # one launch does both
                return [prepare("compact", row, (out.address, result, 0, 1), flags, count)]
            return [
                prepare("count", flags, count, None, scratch),
                prepare("compact", row, (out.address, result, 0, 1), flags, scratch),
            ]
        case "segmented":
            assert each.offsets is not None
            offsets = (each.offsets.address, "int64", 0, 1)
            return [prepare(work.op, row, (out.address, result, 1, 0), None, offsets)]
        case "reduce" | "argmax":
            return [prepare(work.op, (x.address, x.dtype, *strides), (out.address, result, 1, 0))]
        case _:
            matrix = (x.address, x.dtype, *strides)
            return [prepare(work.op, matrix, (out.address, result, *strides))]
