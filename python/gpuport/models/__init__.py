"""The algorithms in plain Python: for reading, for tests, for traces.

Each model does what a kernel does, step by step and on Python's own numbers, and says no where a
GPU would go wrong without a word. `trace=` takes a list, to which each step is appended as
`Step(name, values)`. Nothing here needs NumPy, a compiler or a GPU. `run_checks()`, or
`python -m gpuport.models`, checks the models against direct definitions.

Values are any sequence of integers or floats that can be read again; one-shot iterators are a
TypeError. Integer sums are int64: one that leaves its range is an OverflowError.
"""

from gpuport.models._checks import Checks, run_checks
from gpuport.models._selection import argmax, compact, segmented_sum
from gpuport.models._softmax import EMPTY, State, merge_states, softmax, softmax_state
from gpuport.models._sums import block_scan, device_scan, warp_sum
from gpuport.models._values import CountedReads, Step, Trace

__all__ = [
    "EMPTY",
    "Checks",
    "CountedReads",
    "State",
    "Step",
    "Trace",
    "argmax",
    "block_scan",
    "compact",
    "device_scan",
    "merge_states",
    "run_checks",
    "segmented_sum",
    "softmax",
    "softmax_state",
    "warp_sum",
]
