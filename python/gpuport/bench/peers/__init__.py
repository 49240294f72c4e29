"""What users would run instead, on the same buffers and the same stream, in the same process."""

from gpuport.bench.peers.peer import NAMES, Missing, Peer, Prepared, find

__all__ = ["NAMES", "Missing", "Peer", "Prepared", "find"]
