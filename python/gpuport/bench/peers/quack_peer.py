"""quack's softmax."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import torch
from quack.softmax import _softmax_fwd

from gpuport.bench.calls import UnsupportedError
from gpuport.bench.peers.peer import Prepared
from gpuport.bench.peers.torch_peer import tensor
from gpuport.bench.rig import BufferSet, Rig
from gpuport.specs.workloads import FIRST_AXIS, Workload


class QuackPeer:
    name = "quack"
    version = version("quack-kernels")

    def __init__(self, rig: Rig) -> None:
        self._stream = torch.cuda.ExternalStream(rig.stream)

    def prepare(self, work: Workload, sets: Sequence[BufferSet], rig: Rig) -> Prepared:
        if work.op != "softmax" or work.shape.dtype == "float64":
            raise UnsupportedError("quack has a softmax of up to float32")
        if work.shape.pattern == FIRST_AXIS:
            raise UnsupportedError("quack's softmax takes contiguous rows")
        torch.cuda.set_stream(self._stream)

        def call_of(each: BufferSet) -> Any:
            x, out = tensor(each.x), tensor(each.out)
            x = x.reshape(work.rows, work.cols)
            out = out.reshape(work.rows, work.cols)
            return lambda: _softmax_fwd(x, out)

        return Prepared([[call_of(each)] for each in sets], "quack.softmax")


def load(rig: Rig) -> QuackPeer:
    return QuackPeer(rig)
