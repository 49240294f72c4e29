"""The models against direct definitions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from gpuport.models._selection import argmax, compact, segmented_sum
from gpuport.models._softmax import merge_states, softmax, softmax_state
from gpuport.models._sums import block_scan, device_scan, warp_sum
from gpuport.models._values import Number, Trace

# Around warps and blocks; 262,145 = 512 * 512 + 1 has one block total more than a block can hold.
HIERARCHY_SIZES = (
    *(1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257),
    *(511, 512, 513, 4099, 262144, 262145),
)
BLOCK = 512
SCAN_WIDTHS, SCAN_SIZES = (2, 4, 8, 16), range(65)
NOT_CHECKED = (
    "any kernel on a GPU or on the CPU backend (`gpuport check` does that)",
    "how long anything takes",
)
EXAMPLE = (3, -1, 4, 1, 5, -9, 2, 6)


@dataclass(frozen=True, slots=True)
class Checks:
    """What `run_checks` went through."""

    hierarchy_sizes: int
    scan_cases: int
    examples: int
    not_checked: tuple[str, ...] = NOT_CHECKED


def run_checks(report: Callable[[str], None] = print) -> Checks:
    """Check every model, and say what was checked and what was not.

    Raises:
        AssertionError: naming the first model that is wrong.
    """
    rng = random.Random(0)
    for size in HIERARCHY_SIZES:
        values: list[Number] = [rng.randint(-9, 9) for _ in range(size)]
        trace: Trace = []
        _expect(f"device_scan of {size}", device_scan(values, BLOCK, trace), _exclusive(values))
        levels = [len(step.values) for step in trace if step.name == "totals"]
        _expect(f"the block totals of {size}", levels, _levels(size))
    report(
        f"{len(HIERARCHY_SIZES)} hierarchy sizes up to {HIERARCHY_SIZES[-1]}, in blocks of {BLOCK}"
    )
    cases = [(width, size) for width in SCAN_WIDTHS for size in SCAN_SIZES]
    for width, size in cases:
        values = [rng.randint(-9, 9) for _ in range(size)]
        what = f"device_scan of {size} in blocks of {width}"
        _expect(what, device_scan(values, width), _exclusive(values))
    report(f"{len(cases)} recursive scans: blocks of 2, 4, 8 and 16, 0 to {SCAN_SIZES[-1]} values")
    examples = _check_examples()
    report(f"{examples} values of the running example {list(EXAMPLE)}")
    for what in NOT_CHECKED:
        report(f"not checked: {what}")
    return Checks(len(HIERARCHY_SIZES), len(cases), examples)


def _exclusive(values: Sequence[Number]) -> list[Number]:
    return list(accumulate(values, initial=0))[:-1]


def _levels(size: int) -> list[int]:
    """How many block totals there are on each level, until one block holds them."""
    counts = []
    while size > BLOCK:
        size = -(-size // BLOCK)
        counts.append(size)
    return counts


def _check_examples() -> int:
    left, right = softmax_state(EXAMPLE[:4]), softmax_state(EXAMPLE[4:])
    whole, merged = softmax_state(EXAMPLE), merge_states(left, right)
    if not math.isclose(whole.d, merged.d, rel_tol=1e-15):
        raise AssertionError(f"merge_states: {merged} is not {whole}")
    positive = [x > 0 for x in EXAMPLE]
    found = {
        "warp_sum": (warp_sum(EXAMPLE), 11),
        "block_scan": (block_scan(EXAMPLE, 8), [0, 3, 2, 6, 7, 12, 3, 5]),
        "argmax": (argmax(EXAMPLE), 7),
        "argmax of ties": (argmax([6, -1, 6]), 0),
        "compact": (compact(EXAMPLE, positive), [3, 4, 1, 5, 2, 6]),
        "segmented_sum": (segmented_sum(EXAMPLE, [0, 4, 4, 8]), [7, 0, 4]),
        "the state of the left half": ((left.m, round(left.d, 6)), (4, 1.424404)),
        "the state of the right half": ((right.m, round(right.d, 6)), (6, 1.386195)),
        "the merged state": ((merged.m, round(merged.d, 6)), (6, 1.578968)),
        "softmax of extremes": (softmax([-10000, 0, 10000]), [0, 0, 1]),
    }
    for what, (got, expected) in found.items():
        _expect(what, got, expected)
    return len(found)


def _expect(what: str, got: object, expected: object) -> None:
    if got != expected:
        raise AssertionError(f"{what}: {got} is not {expected}")
