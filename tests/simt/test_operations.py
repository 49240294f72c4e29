"""What warp and block operations, launches and the runtime compute, at both warp widths."""

from __future__ import annotations

from collections.abc import Callable

import pytest

RunCase = Callable[..., list[str]]

BOTH = pytest.mark.parametrize("device", [0, 1])


def width_of(device: int) -> int:
    return 32 << device


def ints(line: str) -> list[int]:
    return [int(word) for word in line.split()]


@BOTH
def test_shuffles_move_every_type_of_1_to_16_bytes(run: RunCase, device: int) -> None:
    assert run("shuffle_types", device) == ["1" * 10]


def shuffle_rows(n: int) -> list[list[int]]:
    lanes = range(n)

    def segment(lane: int) -> range:
        return range(lane // 8 * 8, lane // 8 * 8 + 8)

    return [
        [50 for _ in lanes],
        [lane - 3 if lane >= 3 else lane for lane in lanes],
        [lane + 3 if lane + 3 < n else lane for lane in lanes],
        [segment(lane)[9 % 8] for lane in lanes],
        [lane - 3 if lane - 3 in segment(lane) else lane for lane in lanes],
        [lane + 3 if lane + 3 in segment(lane) else lane for lane in lanes],
        [lane ^ 12 if lane ^ 12 < segment(lane).stop else lane for lane in lanes],
    ]


@BOTH
def test_shuffle_sources(run: RunCase, device: int) -> None:
    assert [ints(line) for line in run("shuffle_sources", device)] == shuffle_rows(width_of(device))


@BOTH
def test_masks_that_are_part_of_the_warp(run: RunCase, device: int) -> None:
    width = width_of(device)
    values = list(range(64))
    for rounds, half in ((3, 0), (5, 1)):
        members = [t for t in range(64) if t % width // (width // 2) == half]
        state = {t: t for t in members}
        for _ in range(rounds):
            state = {t: state[t] + state[t ^ 1] for t in members}
        for t in members:
            voters = sum(1 for lane in range(0, width, 2) if lane > 3)
            values[t] = state[t] + (voters if t % 2 == 0 else 0)
    assert ints(run("partial_masks", device)[0]) == values


@BOTH
def test_votes_reductions_matches(run: RunCase, device: int) -> None:
    n = width_of(device)
    for line, lane in zip(run("votes", device), (0, n - 1), strict=True):
        assert [int(word, 16) for word in line.split()] == [
            sum(1 << i for i in range(0, n, 3)),
            1,
            1,
            0,
            n * (n - 1) // 2,
            max(i ^ 5 for i in range(n)),
            sum(1 << i for i in range(lane % 4, n, 4)),
            1,
        ]


@BOTH
def test_activemask_is_the_converged_lanes(run: RunCase, device: int) -> None:
    even = int("5" * (width_of(device) // 4), 16)
    assert run("activemask", device) == [f"{even:x} {even << 1:x} {even:x}"]


@BOTH
def test_block_votes(run: RunCase, device: int) -> None:
    assert run("block_votes", device) == ["20110 20110 20110"]


@BOTH
def test_shared_memory_belongs_to_the_block(run: RunCase, device: int) -> None:
    sums = [sum(range(first, min(first + 256, 1001))) for first in range(1, 1001, 256)]
    assert ints(run("shared_memory", device)[0]) == sums


@BOTH
def test_shared_memory_is_poisoned_for_each_block(run: RunCase, device: int) -> None:
    assert run("poison", device) == ["7ff57ff5 7ff57ff5 1 1"]
    assert run("seed_poison", device) == ["7ff57ff5 fff5fff5 "]


@BOTH
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_atomics(run: RunCase, device: int, threads: int) -> None:
    n = 40 * 256
    want = f"{n} {-2 * n} 255 -255 {3 * n} {n % 10} 255 {n << 33:x} {n // 2} {n // 4}"
    assert run("atomics", device, threads) == [want]


@BOTH
def test_launch_forms(run: RunCase, device: int) -> None:
    # once() gives 1 and then 2; 2.5f arrives as a float; 128 threads add their own copy plus one.
    assert run("launch_forms", device) == ["102 102 10 2 2 1 6 384 7 103 0 15 0 evaluated 2"]


@BOTH
def test_indices_of_a_three_dimensional_launch(run: RunCase, device: int) -> None:
    assert run("indices", device) == ["0"]


def test_intrinsics(run: RunCase) -> None:
    # e + 8 + 2 + 0.5; 3 + 7 + 8 + 4 + 31 + 64; 1 + 127
    assert run("intrinsics") == ["13.218282 117 128"]


@BOTH
def test_runtime_calls(run: RunCase, device: int) -> None:
    width = width_of(device)
    assert run("runtime_calls", device) == [
        f"35 77 | 2 0 0 | gpuport SIMT machine, warps of {width} lanes, {width} | 0 1 0 -1 0 0 8 2"
    ]


@BOTH
def test_a_million_blocks_leave_nothing_behind(run: RunCase, device: int) -> None:
    assert run("million_blocks", device) == ["0 grown_mib 0"]


@BOTH
def test_stacks_are_bounded_and_reused(run: RunCase, device: int) -> None:
    assert run("stack_memory", device, 2) == ["192 bounded"]


def test_fork_and_host_threads(run: RunCase) -> None:
    total = 192 * 191 // 2
    assert run("fork", threads=2) == [f"0 {total}"]
    assert run("host_threads", threads=2) == ["0 0 0 0 "]


UCONTEXT_CASES = [
    "shuffle_sources",
    "partial_masks",
    "votes",
    "activemask",
    "block_votes",
    "shared_memory",
    "indices",
    "lookback_chain",
    "grid_barrier",
    "deadlock",
    "barrier_elsewhere",
    "exception",
]


@BOTH
@pytest.mark.parametrize("case", UCONTEXT_CASES)
def test_ucontext_does_the_same(
    run: RunCase, run_ucontext: RunCase, case: str, device: int
) -> None:
    assert run_ucontext(case, device, 1) == run(case, device, 1)
