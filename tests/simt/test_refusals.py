"""What a GPU leaves undefined is an error that names kernel, block, warp, lanes and place."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

RunCase = Callable[..., list[str]]

SOURCE = (Path(__file__).parent / "cases_refusals.cpp").read_text().splitlines()

# case: what the text must say after the launch. {w} is the width, {w40} and {l40} the warp and lane
# of thread 40, {@text} the place in the source that holds the text.
REFUSALS = {
    "barrier_exited": r"block \(.,0,0\), warp {w40}, lane {l40} \(thread \(40,0,0\)\) ended "
    r"without the barrier at {@< 40\) __sync}, where 40 threads of its block wait",
    "barrier_after_exit": r"block \(0,0,0\), warp 0, lane 1 \(thread \(1,0,0\)\) waits at the "
    r"barrier at cases_refusals.cpp:\d+, but 1 threads of its block have ended: .*warp 0: "
    r"lanes 0 have ended",
    "barrier_elsewhere": r"no thread of the block can go on: block \(0,0,0\); warp 0: lanes 5 "
    r"wait in __syncwarp at cases_refusals.cpp:\d+ for lanes 0-4,6-{last}; warp 0: lanes "
    r"0-4,6-{last} wait at the barrier at .*",
    "barrier_two_places": r"block \(0,0,0\), warp {w32}, lane {l32} \(thread \(32,0,0\)\) is "
    r"at the barrier at cases_refusals.cpp:\d+, but 32 threads of its block are at another, "
    r"at cases_refusals.cpp:\d+",
    "shuffle_exited": r"block \(0,0,0\), warp 0, lane 3 \(thread \(3,0,0\)\) ended without "
    r"the warp operation at {@!= 3}, where lanes 0-2 of its warp wait with a mask that names "
    r"it",
    "group_exited": r"block \(0,0,0\), warp 0, lane 3 .* ended without the warp operation at "
    r"{@< 3\) __shfl}, where lanes 0-2 of its warp wait .*",
    "source_absent": r"__shfl_down_sync at {@\(0xff, 1, 4\)}: it reads lane 8, which does not "
    r"take part: its mask names lanes 0-7; block \(0,0,0\), warp 0, lane 4 .*",
    "source_not_in_block": r"__shfl_down_sync at {@0xffff, 1, 4}: it reads lane 16, which "
    r"does not take part: its mask names lanes 0-15; .*lane 12 .*",
    "not_in_mask": r"__ballot_sync at .*: its mask names lanes 0-7 and not the calling lane; "
    r".*lane 9 .*",
    "mask_past_block": r"__syncwarp at .*: its mask names lanes 0-31, the block has only "
    r"lanes 0-19 in this warp; .*",
    "width_odd": r"__shfl_xor_sync at .*: the width 7 is not a power of two from 1 to the "
    r"warp's {w}; .*",
    "width_large": r"__shfl_up_sync at .*: the width {w2} is not a power of two from 1 to the "
    r"warp's {w}; .*",
    "mismatch": r"block \(0,0,0\), warp 0, lane 1 .* is in __ballot_sync at .*, but lanes 0 of "
    r"its warp wait for it in __shfl_sync of 4 bytes at .*",
    "mismatch_masks": r".*lane 1 .* with a mask of lanes 0-2, but lanes 0 wait there with a "
    r"mask of lanes 0-1",
    "exception": r"a C\+\+ exception left the kernel: told; block \(0,0,0\), warp 0, lane 7 .*",
    "trap": r"__trap\(\) at {@== 33\) __trap}; block \(0,0,0\), warp {w33}, lane {l33} "
    r"\(thread \(33,0,0\)\)",
}
KERNELS = {"exception": "throwing", "trap": "trapping"}


def filled(pattern: str, width: int) -> str:
    def place(match: re.Match[str]) -> str:
        numbers = [n for n, line in enumerate(SOURCE, 1) if re.search(match[1], line)]
        assert len(numbers) == 1, match[1]
        return rf"cases_refusals\.cpp:{numbers[0]}"

    pattern = re.sub(r"\{@([^}]*)\}", place, pattern)
    for thread in (32, 33, 40):
        pattern = pattern.replace(f"{{w{thread}}}", str(thread // width))
        pattern = pattern.replace(f"{{l{thread}}}", str(thread % width))
    return (
        pattern.replace("{w2}", str(2 * width))
        .replace("{w}", str(width))
        .replace("{last}", str(width - 1))
    )


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("case", REFUSALS)
def test_refused_by_name_and_the_next_launch_works(run: RunCase, case: str, device: int) -> None:
    width = 32 << device
    error, after = run(case, device)
    kernel = KERNELS.get(case, f"{case}_kernel")
    head = rf"cudaErrorLaunchFailure \| unspecified launch failure: kernel {kernel} "
    head += rf"<<<\(\d,1,1\), \(\d+,1,1\)>>>, warps of {width}: "
    assert re.fullmatch(head + filled(REFUSALS[case], width), error), error
    assert after == "then 0 32 detail ''" if width == 32 else "then 0 0 detail ''"


# case: what lane 1 came to, and what lane 0 waits in.
MEETINGS = {
    "meet_xor_down": ("__shfl_down_sync of 4 bytes", "__shfl_xor_sync of 4 bytes"),
    "meet_idx_up": ("__shfl_up_sync of 4 bytes", "__shfl_sync of 4 bytes"),
    "meet_any_ballot": ("__ballot_sync", "__any_sync"),
    "meet_all_any": ("__any_sync", "__all_sync"),
    "meet_add_max": ("__reduce_max_sync of 4 bytes", "__reduce_add_sync of 4 bytes"),
    "meet_and_xor": ("__reduce_xor_sync of 4 bytes", "__reduce_and_sync of 4 bytes"),
    "meet_min_or": ("__reduce_or_sync of 4 bytes", "__reduce_min_sync of 4 bytes"),
    "meet_match": ("__match_all_sync of 4 bytes", "__match_any_sync of 4 bytes"),
    "meet_sizes": ("__shfl_sync of 8 bytes", "__shfl_sync of 4 bytes"),
    "meet_match_sizes": ("__match_any_sync of 8 bytes", "__match_any_sync of 4 bytes"),
    "meet_sync_vote": ("__syncwarp", "__ballot_sync"),
}


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("case", MEETINGS)
def test_two_operations_may_not_meet(run: RunCase, case: str, device: int) -> None:
    came, waits = MEETINGS[case]
    for line in run(case, device):
        assert re.search(rf"lane 1 .* is in {came} at .*, but lanes 0 of its", line), line
        assert re.search(rf" warp wait for it in {waits} at ", line), line


def test_one_operation_may_meet_from_two_places(run: RunCase) -> None:
    assert run("meet_same") == ["cudaSuccess | no error"] * 2


def test_a_mask_of_all_ones_is_the_whole_warp_at_either_width(run: RunCase) -> None:
    for width in (0, 1):
        assert run("mask_of_all_ones", width)[0] == "cudaSuccess | no error"


CONFIGURATIONS = {
    "block_large": "the block (32,33,1) has 1056 threads, the limit is 1024",
    "block_deep": "the block (1,1,65) is over the limit (1024,1024,64)",
    "block_empty": "the block (0,1,1) has no threads",
    "grid_empty": "the grid (1,0,1) has no blocks",
    "grid_large": "the grid (1,65536,1) is over the limit (2147483647,65535,65535)",
    "shared_large": "49153 bytes of dynamic shared memory are over the limit of 49152 "
    "(cudaFuncSetAttribute raises it up to 232448)",
}


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_bad_configurations(run: RunCase, case: str) -> None:
    error, after = run(case)
    assert error == (
        "cudaErrorInvalidConfiguration | invalid configuration argument: kernel nothing: "
        + CONFIGURATIONS[case]
    )
    assert after == "then 0 32 detail ''"


GARBAGE = ["abc", "3x", "-1", "+1", " 1", "1 ", "0x10", "1.0", "99999999999999999999"]


@pytest.mark.parametrize("value", [*GARBAGE, "9223372036854775808"])
def test_a_seed_that_is_no_number_is_refused(run: RunCase, value: str) -> None:
    assert run("one_launch", seed=value)[0] == (
        "cudaErrorInvalidConfiguration | invalid configuration argument: kernel good: "
        f"GPUPORT_SIMT_SEED is '{value}', not a decimal number from 0 to 9223372036854775807"
    )


@pytest.mark.parametrize("value", [*GARBAGE, "0", "1025"])
def test_a_number_of_threads_that_is_none_is_refused(run: RunCase, value: str) -> None:
    assert run("one_launch", threads=value)[0] == (
        "cudaErrorInvalidConfiguration | invalid configuration argument: kernel good: "
        f"GPUPORT_SIMT_THREADS is '{value}', not a decimal number from 1 to 1024"
    )


@pytest.mark.parametrize(
    ("threads", "seed"), [("", ""), ("1", "0"), ("1024", "9223372036854775807"), ("007", "007")]
)
def test_numbers_in_range_and_empty_variables(run: RunCase, threads: str, seed: str) -> None:
    result = run("one_launch", threads=threads, seed=seed)
    assert result == ["cudaSuccess | no error", "0 32 "]


def test_static_and_dynamic_shared_memory_count_together(run: RunCase) -> None:
    error = run("shared_static_large")[0]
    assert "shared memory over the limit: room at cases_refusals.cpp:" in error
    assert "takes 40960 bytes beside 9216 (9216 of them dynamic), the limit is 49152" in error


def test_more_shared_memory_by_attribute(run: RunCase) -> None:
    assert run("shared_opt_in") == ["0 0 9 1"]


def test_nested_launch_overflow_assert(run: RunCase) -> None:
    assert (
        "it launches kernel nothing, and a kernel cannot launch one here" in run("nested_launch")[0]
    )
    assert "a thread needs more stack than 32768 bytes" in run("stack_overflow")[0]
    text = run("device_assert")[0]
    assert text.startswith("cudaErrorAssert | device-side assert triggered: kernel asserting")
    assert 'assertion `p[threadIdx.x] == 0 && "told"\' failed at cases_ops.cpp:' in text
    assert text.endswith("warp 1, lane 3 (thread (35,0,0))")


def test_no_stack_lies_against_other_memory(run: RunCase) -> None:
    assert run("stack_guards") == ["0 1 1 "]


def test_failed_launches_give_everything_back(run: RunCase) -> None:
    words = run("failures_do_not_leak", threads=2)[0].split()
    assert words[0] == "719"
    assert int(words[2]) < 16  # 500 launches of 4096 contexts each would be gigabytes


def test_errors_are_read_once(run: RunCase) -> None:
    assert run("not_sticky") == ["719 719 0"]


def test_a_failed_kernel_reaches_every_call_until_its_error_is_read(run: RunCase) -> None:
    assert [line.split() for line in run("failure_reaches_the_next_call")] == [
        ["719"] * 5,
        ["719"] * 7,
        "719 1 719 719".split(),
        "0 1 0".split(),
        "0 719 0 0 0".split(),
        "0 7 0".split(),
    ]
    assert run("configuration_reaches_no_other_call") == ["0 0 9 0 "]
    assert run("reset_ends_a_failure") == ["719 0 0 0 "]


def test_runtime_errors(run: RunCase) -> None:
    names = (
        "InvalidDevice MemoryAllocation InvalidValue InvalidDeviceFunction InvalidDeviceFunction"
    )
    assert run("runtime_errors") == [" ".join(f"cudaError{name}" for name in names.split())]
