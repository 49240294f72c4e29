"""CUB, on NVIDIA."""

from gpuport.bench.peers.native import NativePeer, native_peer
from gpuport.bench.rig import Rig


def load(rig: Rig) -> NativePeer:
    return native_peer("cub", "cuda", rig)
