"""Specs and sweeps: what `gpuport check` runs, for this project's kernels and for other projects'.

A `Spec` says what a kernel must compute; its `Case`s are the calls that show it; `run_case` runs
one between guards; `sweep_kernels` runs them all; `reproduce` runs again the one that failed.
`@sweep()` runs a pytest test on every backend and warp width, at the sizes where kernels break.
"""

from gpuport.testing.case import (
    Answer,
    Case,
    Difference,
    Invariant,
    Operand,
    Problem,
    Rerun,
    Shape,
    Spec,
    Target,
)
from gpuport.testing.engine import Failure, Machine, Outcome, run_case
from gpuport.testing.invariants import (
    repeats,
    rows_independent,
    rows_sum_to_one,
    same_in_place,
    same_without_out,
    shift_changes_nothing,
)
from gpuport.testing.own_kernel import KernelSpec
from gpuport.testing.parametrization import sweep
from gpuport.testing.sweeping import Cell, Step, cases, reproduce, sweep_kernels, targets, why_not

__all__ = [
    "Answer",
    "Case",
    "Cell",
    "Difference",
    "Failure",
    "Invariant",
    "KernelSpec",
    "Machine",
    "Operand",
    "Outcome",
    "Problem",
    "Rerun",
    "Shape",
    "Spec",
    "Step",
    "Target",
    "cases",
    "repeats",
    "reproduce",
    "rows_independent",
    "rows_sum_to_one",
    "run_case",
    "same_in_place",
    "same_without_out",
    "shift_changes_nothing",
    "sweep",
    "sweep_kernels",
    "targets",
    "why_not",
]
