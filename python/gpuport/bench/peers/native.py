"""The vendors' primitives, compiled into modules of their own (GPUPORT_BASELINES=ON)."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gpuport.bench.calls import UnsupportedError
from gpuport.bench.peers.peer import Prepared
from gpuport.bench.rig import BufferSet, Rig
from gpuport.specs.workloads import Workload

_WHAT = {
    "cub": {
        "sum": "DeviceReduce::Sum",
        "inclusive_scan": "DeviceScan::InclusiveSum",
        "exclusive_scan": "DeviceScan::ExclusiveSum",
        "argmax": "DeviceReduce::ArgMax",
        "compact": "DeviceSelect::Flagged",
        "compact_nonzero": "DeviceSelect::If",
        "segmented_sum": "DeviceSegmentedReduce::Sum",
    },
    "rocprim": {
        "sum": "reduce",
        "inclusive_scan": "inclusive_scan",
        "exclusive_scan": "exclusive_scan",
        "compact": "select, by flags",
        "compact_nonzero": "select, by a predicate",
        "segmented_sum": "segmented_reduce",
    },
}


class NativePeer:
    def __init__(self, name: str, module: Any) -> None:
        self.name = name
        self.version = str(module.version())
        self._module = module

    def prepare(self, work: Workload, sets: Sequence[BufferSet], rig: Rig) -> Prepared:
        op = work.op
        if work.family == "segmented":
            op = f"segmented_{op}"
        elif work.family == "compact" and work.keep is work.x:
            op = "compact_nonzero"
        elif work.rows > 1:
            raise UnsupportedError(f"{self.name} is called on whole arrays only")
        what = _WHAT[self.name]
        if op not in what:
            raise UnsupportedError(f"no call of {self.name} is compiled for {op}")
        try:
            jobs = [self._job(op, work, each, rig) for each in sets]
        except ValueError as error:
            raise UnsupportedError(str(error)) from None
        return Prepared(
            # The object stays with its addresses: it owns the temporary storage.
            [[job] for job in jobs],
            what[op],
            temporary_bytes=jobs[0].temporary_bytes,
            has_count=True,
        )

    def _job(self, op: str, work: Workload, each: BufferSet, rig: Rig) -> Any:
        keep = each.keep.address if each.keep else 0
        offsets = each.offsets.address if each.offsets else 0
        return self._module.prepare(
            *(op, work.shape.dtype, work.x.size, work.rows, each.x.address, keep, offsets),
            *(each.out.address, each.count.address, rig.stream),
        )


def native_peer(name: str, backend: str, rig: Rig) -> NativePeer:
    """The library's module; UnsupportedError where it is not of this backend or not built."""
    if rig.backend != backend:
        raise UnsupportedError(f"it is compiled for the {backend} backend only")
    try:
        module = import_module(f"gpuport._{name}")
    except ImportError:
        raise UnsupportedError("this build has no baselines: GPUPORT_BASELINES is OFF") from None
    return NativePeer(name, module)
