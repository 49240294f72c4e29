"""Row softmax in Triton as its users write it: a row a program, in one block of a power of two.

A row that no block can hold is gone through twice, a block at a time, with a running maximum and
sum.
"""

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl

from gpuport.bench.calls import UnsupportedError
from gpuport.bench.peers.peer import Prepared
from gpuport.bench.peers.torch_peer import tensor
from gpuport.bench.rig import BufferSet, Rig
from gpuport.specs.workloads import FIRST_AXIS, Workload

LONGEST_BLOCK = 65536  # columns; larger ones spill more than they save
LOOP_BLOCK = 8192


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _fused_row(out, x, cols, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    values = tl.load(x + row * cols + at, mask=inside, other=-float("inf")).to(tl.float32)
    terms = tl.exp(values - tl.max(values, axis=0))
    result = terms / tl.sum(terms, axis=0)
    tl.store(out + row * cols + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _looped_row(out, x, cols, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        values = tl.load(x + row * cols + start + at, mask=inside, other=-float("inf"))
        values = values.to(tl.float32)
        higher = tl.maximum(top, values)
        # A lane that has seen nothing yet keeps the sum 0, where -inf - -inf would be NaN.
        total = tl.where(
            higher == -float("inf"), 0.0, total * tl.exp(top - higher) + tl.exp(values - higher)
        )
        top = higher
    row_top = tl.max(top, axis=0)
    row_total = tl.sum(total * tl.exp(top - row_top), axis=0)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        values = tl.load(x + row * cols + start + at, mask=inside, other=-float("inf"))
        result = tl.exp(values.to(tl.float32) - row_top) / row_total
        tl.store(out + row * cols + start + at, result.to(out.dtype.element_ty), mask=inside)


class TritonPeer:
    name = "triton"
    version = str(triton.__version__)

    def __init__(self, rig: Rig) -> None:
        self._stream = torch.cuda.ExternalStream(rig.stream)

    def prepare(self, work: Workload, sets: Sequence[BufferSet], rig: Rig) -> Prepared:
        if work.op != "softmax" or work.shape.dtype == "float64":
            raise UnsupportedError("the Triton kernels here are a softmax of up to float32")
        if work.shape.pattern == FIRST_AXIS:
            raise UnsupportedError("the Triton kernels here take contiguous rows")
        torch.cuda.set_stream(self._stream)
        block = triton.next_power_of_2(work.cols)
        fused = block <= LONGEST_BLOCK
        kernel: Any = _fused_row if fused else _looped_row
        block = block if fused else LOOP_BLOCK
        # 16 elements a thread, within what a block may have.
        warps = min(max(block // 512, 1), 32) if fused else 16

        def call_of(each: BufferSet) -> Any:
            x, out = tensor(each.x), tensor(each.out)
            return lambda: kernel[(work.rows,)](out, x, work.cols, BLOCK=block, num_warps=warps)

        what = f"{'fused' if fused else 'two-pass'} row softmax, block {block}, {warps} warps"
        return Prepared([[call_of(each)] for each in sets], what)


def load(rig: Rig) -> TritonPeer:
    if not torch.cuda.is_available():
        raise UnsupportedError("PyTorch, through which Triton runs, sees no GPU")
    return TritonPeer(rig)
