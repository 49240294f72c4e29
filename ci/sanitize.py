"""Every kernel of one backend at 4,099 elements and its neighbours, to be run under a sanitizer.

    compute-sanitizer --tool racecheck python ci/sanitize.py [BACKEND [KERNEL...]]

A sanitizer slows a kernel down by hundreds, so this takes, of each kernel's spec, the cases with
4,099 elements, and those with one less and one more, and rows of as many and of few that stand side
by side.
Kernels whose blocks wait for each other get a size of several tiles as well, and those that treat
long rows apart a long one. The answers are
checked as in `gpuport check`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import gpuport
from gpuport import specs
from gpuport.testing import Case, Spec, Target, cases, run_case, targets
from gpuport.testing.machine import machine
from gpuport.testing.sizes import LONG_LOADS

SIZE = 4099
SEVERAL_TILES = 50_001
SIDE_BY_SIDE = ((SIZE, 33), (3, 1032), (16, 136), (21, 70))  # reduced along the first axis
TWO_ROWS_A_LANE = (1026, 8200)  # 16 MB of 16-bit floats
# Kernels and paths that only long rows take.
LONG = {
    "reduce.single_pass": ("float32", LONG_LOADS[0]),
    "argmax.single_pass": ("float32", LONG_LOADS[0]),
    "scan.lookback": ("int32", (2200001,)),
    "segmented.merge_path": ("float32", (2**25 + 13,)),
}
WAITING = (
    "reduce.single_pass",
    "argmax.single_pass",
    "scan.lookback",
    "scan.pipelined",
    "compact.pipelined",
    "softmax.split_row",
)


def chosen(kernel: str, target: Target) -> Iterator[Case]:
    dtype, shape = LONG.get(kernel, ("", ()))
    for case in cases(kernel, target):
        if shape and (case.dtype, case.shape) == (dtype, shape):
            yield case
        if case.shape in ((SIZE,), (3, SIZE)) and not case.refused:
            sizes = (SIZE - 1, SIZE, SIZE + 1)
            for size in (*sizes, SEVERAL_TILES) if kernel in WAITING else sizes:
                yield replace(case, shape=(*case.shape[:-1], size))
        elif case.shape in SIDE_BY_SIDE and case.dtype in ("int8", "bfloat16", "float32"):
            yield case
            if kernel == "reduce.single_pass" and (case.op, case.dtype) == ("sum", "bfloat16"):
                yield replace(case, shape=TWO_ROWS_A_LANE)


def failures(spec: Spec, kernel: str, target: Target) -> tuple[int, list[str]]:
    runs, failed = 0, []
    on = machine(kernel, target)
    for case in dict.fromkeys(chosen(kernel, target)):
        if spec.skip(case, target) is None:
            runs += 1
            outcome = run_case(spec, case, target, on, spec.problem(case))
            if outcome.failure is not None:
                failed.append(f"{kernel} {case.name}: {outcome.failure.check}")
    return runs, failed


def main() -> int:
    backend, *only = sys.argv[1:] or ["cuda"]
    here = targets(backend)
    if not here:
        print(f"no device for {backend}")
        return 1
    bad = 0
    for record in gpuport.kernels():
        if only and record.name not in only:
            continue
        spec = specs.find(record.name)
        if spec is None:
            print(f"{record.name}: no spec")
            bad += 1
            continue
        for target in here:
            runs, failed = failures(spec, record.name, target)
            print(f"{record.name:28} {target}  {runs} cases, {len(failed)} failed", flush=True)
            print("\n".join(failed), end="\n" if failed else "")
            bad += len(failed) + (runs == 0)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
