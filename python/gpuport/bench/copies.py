"""The ceiling: copies that read and write as many bytes in all as a workload does."""

from gpuport.bench.calls import Steps
from gpuport.bench.rig import ALIGNMENT, Rig, how_many_sets

METHODS = {"memcpy": False, "kernel": True}  # by the runtime, or by a kernel, 16 bytes a thread


class Copies:
    """Pairs of buffers that rotate as those of the workload do."""

    def __init__(self, rig: Rig, nbytes: int, *, cold: bool) -> None:
        half = nbytes // 2
        stride = -(-max(half, 1) // ALIGNMENT) * ALIGNMENT
        self.set_bytes = 2 * stride
        self.count = how_many_sets(rig, self.set_bytes, cold)
        self._arena = rig.native.allocate(self.count * self.set_bytes + ALIGNMENT, rig.ordinal)
        start = -(-self._arena.address // ALIGNMENT) * ALIGNMENT
        self.nbytes = 2 * half
        self.calls: dict[str, list[Steps]] = {
            method: [
                [rig.native.prepare_copy(at + stride, at, half, by_kernel, rig.ordinal, rig.stream)]
                for at in range(start, start + self.count * self.set_bytes, self.set_bytes)
            ]
            for method, by_kernel in METHODS.items()
        }
