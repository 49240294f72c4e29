"""CuPy, through its public functions with `out=` where they have one."""

from collections.abc import Callable, Sequence

import cupy

from gpuport.bench.calls import UnsupportedError
from gpuport.bench.peers.peer import Made, Prepared, prepare_from
from gpuport.bench.rig import BufferSet, Rig
from gpuport.specs.workloads import Workload


class CupyPeer:
    name = "cupy"
    version = str(cupy.__version__)

    def __init__(self, rig: Rig) -> None:
        self._stream = cupy.cuda.ExternalStream(rig.stream)

    def prepare(self, work: Workload, sets: Sequence[BufferSet], rig: Rig) -> Prepared:
        if work.shape.dtype == "bfloat16":
            raise UnsupportedError("CuPy has no bfloat16")
        self._stream.use()
        return prepare_from(_CALLS, "CuPy", work, sets)


def _sum(work: Workload, each: BufferSet) -> Made:
    x, out = cupy.asarray(each.x), cupy.asarray(each.out)
    axis = work.axis
    return lambda: cupy.sum(x, axis=axis, dtype=out.dtype, out=out), "cupy.sum", ""


def _scan(work: Workload, each: BufferSet) -> Made:
    x, out = cupy.asarray(each.x), cupy.asarray(each.out)
    return lambda: cupy.cumsum(x, axis=-1, dtype=out.dtype, out=out), "cupy.cumsum", ""


def _argmax(work: Workload, each: BufferSet) -> Made:
    x, out = cupy.asarray(each.x), cupy.asarray(each.out)
    axis = work.axis
    return lambda: cupy.argmax(x, axis=axis, dtype=out.dtype, out=out), "cupy.argmax", ""


def _compact(work: Workload, each: BufferSet) -> Made:
    assert each.keep is not None
    x, keep = cupy.asarray(each.x), cupy.asarray(each.keep)
    out = cupy.asarray(each.out)[: work.expected.size]
    if keep.dtype != bool:
        raise UnsupportedError("cupy indexes with boolean masks")

    def call() -> None:
        out[...] = x[keep]

    return call, "x[keep]", "waits for the size of its result, and copies it to the output"


_CALLS: dict[str, Callable[[Workload, BufferSet], Made]] = {
    "reduce.sum": _sum,
    "scan.inclusive_scan": _scan,
    "argmax.argmax": _argmax,
    "compact.compact": _compact,
}


def load(rig: Rig) -> CupyPeer:
    if not cupy.cuda.is_available():
        raise UnsupportedError("this CuPy sees no GPU")
    return CupyPeer(rig)
