"""Baselines: what fails, what is noted, and that a written one is read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from records import kernel

from gpuport.inspection import baseline

CLEAN = {"_Z1kv": {"registers": 32, "shared": 0, "stack": 0, "spills": 0, "local_accesses": 0}}


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        ({}, None),
        ({"registers": 40}, None),
        ({"registers": 41}, "registers 32 -> 41 (by more than 8)"),
        ({"registers": 16}, None),
        ({"agprs": 9}, "agprs 0 -> 9 (by more than 8)"),
        ({"stack": 8}, "stack frame 0 -> 8 bytes"),
        ({"spills": 1}, "spilled registers 0 -> 1"),
        ({"sgpr_spills": 2}, "spilled scalar registers 0 -> 2"),
        ({"shared": 4096}, None),
        ({"local_accesses": 3}, None),
        (
            {"spills": None, "local_accesses": 3},
            "local memory accesses 0 -> 3 (spills or arrays: the file does not say)",
        ),
    ],
)
def test_compared_with_a_clean_kernel(changes: dict[str, Any], failure: str | None) -> None:
    result = baseline.compare([kernel(**changes)], baseline.Baseline({"sm_90": CLEAN}))
    assert result.compared == 1
    assert result.failures == ([f"sm_90 k(): {failure}"] if failure else [])
    assert result.notes == []


def test_what_was_bad_before_may_stay_but_not_grow() -> None:
    before = {"_Z1kv": {"registers": 32, "stack": 64, "spills": 5}}
    known = baseline.Baseline({"sm_90": before})
    assert baseline.compare([kernel(stack=64, spills=5)], known).failures == []
    assert baseline.compare([kernel(stack=32, spills=4)], known).failures == []
    assert baseline.compare([kernel(stack=72, spills=6)], known).failures == [
        "sm_90 k(): spilled registers 5 -> 6",
        "sm_90 k(): stack frame 64 -> 72 bytes",
    ]


@pytest.mark.parametrize(("jump", "fails"), [(0, True), (3, True), (4, False)])
def test_the_jump_can_be_set(jump: int, fails: bool) -> None:
    result = baseline.compare(
        [kernel(registers=36)], baseline.Baseline({"sm_90": CLEAN}), jump=jump
    )
    assert bool(result.failures) == fails


def test_a_new_kernel_is_noted_and_may_not_spill() -> None:
    new = kernel(symbol="_Z3newv", name="new()", registers=200)
    result = baseline.compare([kernel(), new], baseline.Baseline({"sm_90": CLEAN}))
    assert (result.failures, result.notes) == ([], ["sm_90 new(): a new kernel"])
    spilling = kernel(symbol="_Z3newv", name="new()", spills=7)
    assert baseline.compare([kernel(), spilling], baseline.Baseline({"sm_90": CLEAN})).failures == [
        "sm_90 new(): spilled registers 0 -> 7"
    ]


def test_what_is_gone_is_noted() -> None:
    own = {**CLEAN, "_Z4gonev": {"registers": 8}}
    known = baseline.Baseline({"sm_90": own, "gfx90a": CLEAN})
    result = baseline.compare([kernel(), kernel(architecture="sm_80")], known)
    assert result.failures == []
    assert result.notes == [
        "sm_80: not in the baseline, 1 kernels not compared",
        "gfx90a: none of the 1 kernels of the baseline is here",
        "sm_90 _Z4gonev: in the baseline, not here",
    ]


def test_nothing_in_common_is_a_failure() -> None:
    result = baseline.compare([kernel(architecture="sm_80")], baseline.Baseline({"sm_90": CLEAN}))
    assert result.failures == ["no kernel of these files is in the baseline: nothing was compared"]


def test_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    kernels = [
        kernel(stack=16, spills=3),
        kernel(architecture="gfx90a", agprs=4, sgprs=10, sgpr_spills=0, local_accesses=None),
    ]
    baseline.write(path, kernels, {"sm_90": "ptxas 13.0.88", "sm_80": "unused"})
    assert baseline.read(path).compilers == {"gfx90a": "", "sm_90": "ptxas 13.0.88"}
    assert baseline.read(path).kernels == {
        "gfx90a": {
            "_Z1kv": {
                "registers": 32,
                "agprs": 4,
                "sgprs": 10,
                "shared": 0,
                "stack": 0,
                "spills": 0,
                "sgpr_spills": 0,
            }
        },
        "sm_90": {
            "_Z1kv": {"registers": 32, "shared": 0, "stack": 16, "spills": 3, "local_accesses": 0}
        },
    }
    assert baseline.compare(kernels, baseline.read(path)).failures == []
    again = tmp_path / "again.json"
    baseline.write(again, reversed(kernels), {"sm_90": "ptxas 13.0.88"})
    assert again.read_bytes() == path.read_bytes()


def test_another_compiler_is_noted() -> None:
    known = baseline.Baseline({"sm_90": CLEAN}, {"sm_90": "ptxas 12.9.86"})
    assert baseline.compare([kernel()], known, {"sm_90": "ptxas 13.0.88"}).notes == [
        "sm_90: the baseline is by ptxas 12.9.86, this is by ptxas 13.0.88"
    ]
    assert baseline.compare([kernel()], known, {"sm_90": "ptxas 12.9.86"}).notes == []


def test_the_worst_of_several_copies_counts() -> None:
    copies = [kernel(registers=20, spills=4), kernel(registers=30, spills=1, module="other.so")]
    assert baseline.table(copies)["sm_90"]["_Z1kv"] == {
        "registers": 30,
        "shared": 0,
        "stack": 0,
        "spills": 4,
        "local_accesses": 0,
    }


def test_a_kernel_in_an_anonymous_namespace_keeps_its_key_when_its_path_changes() -> None:
    symbols = [f"_ZN36_GLOBAL__N__{hashed}_5_an_cu__Z2goPi4anonEPi" for hashed in
               ("3bfd3780", "47a23a82")]  # fmt: skip
    before, after = (baseline.table([kernel(symbol=symbol)]) for symbol in symbols)
    assert before == after


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "no baseline of version 1"),
        (b'{"version": 2, "kernels": {}}', "no baseline of version 1"),
        (b'{"version": 1}', "no table of numbers"),
        (b'{"version": 1, "kernels": {"sm_90": {"k": {"registers": "8"}}}}', "no table of numbers"),
        (b'{"version": 1, "kernels": {"sm_90": []}}', "no table of numbers"),
        (b'{"version": 1, "kernels": {}, "compilers": 3}', "its compilers are no table"),
    ],
)
def test_what_is_no_baseline(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    with pytest.raises(baseline.BaselineError, match=message):
        baseline.read(path)
