"""PyTorch, through its public functions with `out=` where they have one."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from gpuport.bench.calls import UnsupportedError
from gpuport.bench.peers.peer import Made, Prepared, prepare_from
from gpuport.bench.rig import BufferSet, DeviceMemory, Rig
from gpuport.specs.workloads import Workload
from gpuport.testing.dtypes import is_float


def tensor(memory: DeviceMemory) -> Any:
    """The same memory as a tensor."""
    made = torch.as_tensor(memory, device="cuda")
    if made.data_ptr() != memory.address:
        raise UnsupportedError("PyTorch copied the buffer, so it would not be the same")
    return made.view(torch.bfloat16) if memory.dtype == "bfloat16" else made


class TorchPeer:
    name = "torch"
    version = str(torch.__version__)

    def __init__(self, rig: Rig) -> None:
        self._stream = torch.cuda.ExternalStream(rig.stream)

    def prepare(self, work: Workload, sets: Sequence[BufferSet], rig: Rig) -> Prepared:
        # All later work of this process goes to the rig's stream, so that a timed call does not
        # have to switch to it.
        torch.cuda.set_stream(self._stream)
        return prepare_from(_CALLS, "PyTorch", work, sets)


def _sum(work: Workload, each: BufferSet) -> Made:
    x, out, dim = tensor(each.x), tensor(each.out), work.axis
    return lambda: torch.sum(x, dim, dtype=out.dtype, out=out), "torch.sum", ""


def _scan(work: Workload, each: BufferSet) -> Made:
    x, out = tensor(each.x), tensor(each.out)
    dim = x.ndim - 1
    return lambda: torch.cumsum(x, dim, dtype=out.dtype, out=out), "torch.cumsum", ""


def _argmax(work: Workload, each: BufferSet) -> Made:
    x, out, dim = tensor(each.x), tensor(each.out), work.axis
    return lambda: torch.argmax(x, dim, out=out), "torch.argmax", ""


def _compact(work: Workload, each: BufferSet) -> Made:
    assert each.keep is not None
    x, keep = tensor(each.x), tensor(each.keep)
    out = tensor(each.out)[: work.expected.size]
    note = "waits for the size of its result"
    if keep.dtype is not torch.bool:
        raise UnsupportedError("torch.masked_select takes a boolean mask")
    return lambda: torch.masked_select(x, keep, out=out), "torch.masked_select", note


def _softmax(work: Workload, each: BufferSet) -> Made:
    x, out, dim = tensor(each.x), tensor(each.out), work.axis
    return lambda: torch.softmax(x, dim, out=out), "torch.softmax", ""


def _segmented(work: Workload, each: BufferSet) -> Made:
    assert each.offsets is not None
    if not is_float(work.shape.dtype):
        raise UnsupportedError("torch.segment_reduce takes floats only")
    x, offsets, out = tensor(each.x), tensor(each.offsets), tensor(each.out)
    note = "returns a new tensor, which is copied to the output"

    def call() -> None:
        out.copy_(torch.segment_reduce(x, "sum", offsets=offsets, unsafe=True))

    return call, "torch.segment_reduce", note


_CALLS: dict[str, Callable[[Workload, BufferSet], Made]] = {
    "reduce.sum": _sum,
    "scan.inclusive_scan": _scan,
    "argmax.argmax": _argmax,
    "compact.compact": _compact,
    "segmented.sum": _segmented,
    "softmax.softmax": _softmax,
}


def load(rig: Rig) -> TorchPeer:
    if not torch.cuda.is_available():
        raise UnsupportedError("this PyTorch sees no GPU")
    return TorchPeer(rig)
