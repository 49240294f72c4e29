"""Blocks that wait for each other, launches that cannot end, and orders chosen by seed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

RunCase = Callable[..., list[str]]

EVERYWHERE = pytest.mark.parametrize(
    ("device", "threads"), [(0, 1), (0, 2), (1, 1), (1, 2), (0, 5)]
)
SEEDS = [None, 1, 2, 3]


@EVERYWHERE
@pytest.mark.parametrize("seed", SEEDS)
def test_lookback_chain(run: RunCase, device: int, threads: int, seed: int | None) -> None:
    assert run("lookback_chain", device, threads, seed) == ["0 1 20100"]


@EVERYWHERE
@pytest.mark.parametrize("seed", SEEDS)
def test_grid_barrier_over_200_blocks(
    run: RunCase, device: int, threads: int, seed: int | None
) -> None:
    assert run("grid_barrier", device, threads, seed) == ["0 4000 0"]


@EVERYWHERE
@pytest.mark.parametrize("seed", SEEDS)
def test_resident_blocks_may_wait_for_later_ones(
    run: RunCase, device: int, threads: int, seed: int | None
) -> None:
    assert run("later_blocks_resident", device, threads, seed) == ["0 200"]


@EVERYWHERE
def test_cooperative_groups(run: RunCase, device: int, threads: int) -> None:
    good, refused = run("cooperative_groups", device, threads)
    assert good == f"0 {sum(range(5000))} 200"
    assert "needs a cooperative launch; block (" in refused


def test_ordinary_blocks_that_wait_for_later_ones_are_an_error(run: RunCase) -> None:
    text = run("later_blocks_ordinary", 0, 1)[0]
    assert text.startswith(
        "cudaErrorLaunchFailure | unspecified launch failure: kernel backwards "
        "<<<(200,1,1), (64,1,1)>>>, warps of 32: deadlock: "
    )
    assert "199 blocks have not begun (blocks that wait for later ones need a cooperative" in text
    assert "block (0,0,0); warp 0: lanes 0 poll in the loop at cases_order.cpp:" in text


@EVERYWHERE
def test_progress_through_memory_alone_is_no_deadlock(
    run: RunCase, device: int, threads: int
) -> None:
    assert run("token_ring", device, threads) == ["0 24000"]
    assert run("spin_lock", device, threads) == ["0 1920"]


@EVERYWHERE
def test_deadlock_says_who_waits_for_what(run: RunCase, device: int, threads: int) -> None:
    text = run("deadlock", device, threads)[0]
    assert "kernel stuck <<<(2,1,1), (40,1,1)>>>" in text
    last = 31 if device == 0 else 39
    assert "deadlock: every thread that has begun waits" in text
    assert "block (1,0,0); warp 0: lanes 0 poll in the loop at cases_order.cpp:" in text
    assert f"; warp 0: lanes 1-{last} wait at the barrier at cases_order.cpp:" in text


def test_a_loop_that_counts_is_a_deadlock_too(run: RunCase) -> None:
    assert run("deadlock_counting", 0, 1) == ["719"]


def test_too_many_resident_blocks(run: RunCase) -> None:
    assert "100000 blocks of 64 threads cannot all be resident" in run("resident_too_large")[0]


@pytest.mark.parametrize("device", [0, 1])
def test_seeds_choose_the_order(run: RunCase, device: int) -> None:
    natural, one, two, one_again = (line.split() for line in run("seeded_order", device, 1))
    assert natural[:3] == ["512", "1", "1"]
    assert one[:3] == two[:3] == ["512", "0", "0"]
    assert one == one_again
    assert len({natural[3], one[3], two[3]}) == 3


@pytest.mark.parametrize("device", [0, 1])
def test_a_missing_barrier_shows_and_a_present_one_does_not(run: RunCase, device: int) -> None:
    wrong_with, seeds_that_show = (int(word) for word in run("missing_barrier", device)[0].split())
    assert wrong_with == 0
    assert seeds_that_show >= 20


@EVERYWHERE
def test_a_right_kernel_is_right_under_every_seed(run: RunCase, device: int, threads: int) -> None:
    assert run("seeds_agree", device, threads) == ["0 0"]
