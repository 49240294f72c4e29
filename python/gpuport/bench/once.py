"""One call of one kernel and nothing else on the GPU, for a profiler to look at.

    python -m gpuport.bench.once KERNEL DTYPE SHAPE PATTERN BACKEND DEVICE

The buffers are uploaded by copies and the call is the only one that launches kernels. Exit code 1:
its result is wrong.
"""

import sys
from collections.abc import Sequence

from gpuport.bench.calls import kernel_for, own_steps
from gpuport.bench.plan import parse_size
from gpuport.bench.rig import Buffers, Rig
from gpuport.specs.workloads import workload
from gpuport.testing.case import Shape


def main(arguments: Sequence[str]) -> int:
    kernel, dtype, shape, pattern, backend, device = arguments
    rig = Rig(backend, int(device))
    work = workload(kernel.partition(".")[0], Shape(dtype, parse_size(shape), "", pattern=pattern))
    buffers = Buffers(rig, work, cold=False)
    for step in own_steps(kernel_for(kernel, work, rig), work, buffers.sets[0], rig):
        step()
    rig.synchronize()
    problem = buffers.wrong(0)
    if problem:
        print(f"{kernel}: {problem}", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
