"""`gpuport traffic`: the profiler's table read, and its absence named. No GPU is needed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gpuport
from gpuport import _backends
from gpuport.bench import traffic
from gpuport.cli import main
from gpuport.specs.workloads import workload
from gpuport.testing.case import Shape

LD, ST = (f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}" for op in ("ld", "st"))
ATOM, RED = (f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}" for op in ("atom", "red"))
ASYNC = "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_"
BULK = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld"
BULK_ST = "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st"
ALL = {LD, ST, ATOM, RED, f"{ASYNC}access", f"{ASYNC}bypass", BULK, BULK_ST}

# What Nsight Compute prints: its own words, those of the program, names, units, two launches.
PAGE = Path(__file__).with_name("ncu_page.csv").read_text()


def metrics() -> dict[str, list[str]]:
    chosen, missing = traffic.choose_metrics(ALL)
    assert missing == []
    return chosen


def test_every_launch_is_read() -> None:
    first, second = traffic.parse(PAGE, metrics())
    assert first.kernel == "gp::compact::count_kernel"
    assert first.sectors["loads"] == 1572864
    assert first.sectors["atomics"] == 3 + 4
    assert second.sectors == {
        "loads": 100,
        "stores": 524288,
        "atomics": 0,
        "async loads": 16 + 32,
        "bulk loads": 64,
        "bulk stores": 128,
    }


def test_copies_into_shared_memory_are_part_of_the_reads() -> None:
    found = traffic.Traffic("x", traffic.parse(PAGE, metrics()), 1, 1)
    assert found.reads == 1572864 + 100 + 48 + 64
    assert found.writes == 8 + 524288 + 128


def test_what_nothing_counts_is_named_and_never_zero() -> None:
    chosen, missing = traffic.choose_metrics(ALL - {BULK, f"{ASYNC}bypass"})
    assert missing == ["async loads", "bulk loads"]
    _, second = traffic.parse(PAGE, chosen)
    assert second.sectors["bulk loads"] is None
    assert second.sectors["async loads"] == 16


def test_the_other_spelling_of_a_metric_is_found() -> None:
    known = {name.replace("sm__sass", "smsp__sass") for name in ALL}
    chosen, missing = traffic.choose_metrics(known)
    assert missing == []
    assert chosen["async loads"][0].startswith("smsp__sass")


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("==PROF== nothing\n", "no table"),
        (PAGE.replace(f"{ST}.sum", "other.sum"), "no column"),
        (PAGE.replace("1,572,864", "n/a"), "could not count"),
    ],
)
def test_a_page_that_says_something_else_is_an_error(page: str, message: str) -> None:
    with pytest.raises(gpuport.Error, match=message):
        traffic.parse(page, metrics())


def test_the_ideal_touches_every_array_once() -> None:
    softmax = workload("softmax", Shape("float32", (4096, 1024), ""))
    assert traffic.ideal(softmax) == (524288, 524288)
    scan = workload("scan", Shape("int32", (1024,), ""))
    assert traffic.ideal(scan) == (128, 256)
    compact = workload("compact", Shape("int32", (1024,), ""))
    assert traffic.ideal(compact)[0] == 128 + 32


@pytest.fixture
def profiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """A stand-in for ncu on PATH, and a cuda backend that is said to be usable."""

    def install(page: str, code: int = 0) -> None:
        (tmp_path / "page").write_text(page)
        (tmp_path / "known").write_text("\n".join(f"{name}  Counter" for name in sorted(ALL)))
        script = tmp_path / "ncu"
        script.write_text(
            f'#!/bin/sh\n[ "$1" = --query-metrics ] && exec cat {tmp_path}/known\n'
            f"cat {tmp_path}/page\nexit {code}\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        monkeypatch.setattr(_backends, "usable_module", lambda name: None)

    return install


COMMAND = ["traffic", "compact.two_pass", "--shape", "2^20", "--dtype", "int32"]


def test_the_command(profiler: Any) -> None:
    profiler(PAGE)
    result = CliRunner().invoke(main, [*COMMAND, "--json"])
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)
    assert found["reads"] == 1573076
    assert found["ideal_reads"] == 131072 + 32768
    assert "somewhere" not in result.stdout
    shown = CliRunner().invoke(main, COMMAND).stdout
    assert "reads: 1573076, ideal 163840, 9.60 times as many" in shown
    assert "bulk loads" in shown


def test_a_profiler_that_fails_is_quoted(profiler: Any) -> None:
    profiler("==ERROR== ERR_NVGPUCTRPERM\n", code=1)
    result = CliRunner().invoke(main, COMMAND)
    assert result.exit_code == 1
    assert "ERR_NVGPUCTRPERM" in result.stderr


def test_without_a_profiler_or_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(_backends, "usable_module", lambda name: None)
        patched.setattr(shutil, "which", lambda name: None)
        result = CliRunner().invoke(main, COMMAND)
        assert result.exit_code == 2
        assert "ncu is not on PATH" in result.stderr
    if not any(b.name == "cuda" and b.available for b in gpuport.backends()):
        result = CliRunner().invoke(main, COMMAND)
        assert result.exit_code == 2
        assert "backend cuda" in result.stderr


def test_the_profiled_program_checks_its_result() -> None:
    from gpuport.bench import once

    assert once.main(["compact.two_pass", "int32", "4099", "itself", "cpu", "0"]) == 0
    with pytest.raises(ValueError, match="no size"):
        once.main(["compact.two_pass", "int32", "many", "", "cpu", "0"])
