"""`gpuport check`: the table, the exit codes, what it says of failures and of what did not run."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import gpuport
from gpuport.cli import main


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["check", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def sum_of_something_else(x: Any, axis: Any = None, out: Any = None, **_: Any) -> Any:
    result = np.asarray(np.sum(x, axis=axis)) + 1
    if out is None:
        return result
    out[...] = result
    return out


def test_all_right() -> None:
    result = run("--kernel", "reduce.serial", "--quick")
    assert result.exit_code == 0
    assert "reduce.serial" in result.stdout
    assert "cpu w32" in result.stdout
    assert "cpu w64" in result.stdout
    assert "0 failed" in result.stdout


def test_json() -> None:
    result = run(
        "--kernel", "softmax", "--warp-size", "64", "--backend", "cpu", "--quick", "--json"
    )
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["ok"] is True
    assert {r["kernel"].partition(".")[0] for r in report["results"]} == {"softmax"}
    assert {(r["backend"], r["warp_size"]) for r in report["results"]} == {("cpu", 64)}
    assert all(r["passed"] > 20 and r["failed"] == 0 for r in report["results"])


def test_a_failure_prints_the_line_that_reproduces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpuport, "sum", sum_of_something_else)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})  # all in this process
    chosen = ("--kernel", "reduce.serial", "--warp-size", "64", "--backend", "cpu", "--quick")
    result = run(*chosen)
    assert result.exit_code == 1
    assert (
        "python -c \"import gpuport.testing as t; t.reproduce('reduce.serial', backend='cpu', "
        "warp_size=64, case='sum-int32-0-uniform')\"\n"
    ) in result.stdout
    assert "expected 0, got 1" in result.stdout
    assert "more; --json lists them all" in result.stdout

    report = json.loads(run(*chosen, "--json").stdout)
    assert report["ok"] is False
    (cell,) = report["results"]
    assert cell["failed"] == len(cell["failures"]) > 3
    assert cell["failures"][0]["case"] == "sum-int32-0-uniform"
    assert cell["failures"][0]["expected"] == "0"


def test_a_kernel_without_a_spec_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    record = gpuport.Kernel("reduce.unheard_of", ("int32",), True, "", "")
    monkeypatch.setattr(gpuport, "kernels", lambda: [record])
    result = run()
    assert result.exit_code == 1
    assert "no spec" in result.stdout


@pytest.fixture
def hip_without_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The HIP module is built, and no AMD GPU is here."""
    records = {record.name: record for record in gpuport.backends()}
    records["hip"] = dataclasses.replace(
        records["hip"], built=True, available=False, reason="no ROCm-capable device is detected"
    )
    monkeypatch.setattr(gpuport, "backends", lambda: list(records.values()))


@pytest.mark.usefixtures("hip_without_device")
def test_a_backend_without_a_device_is_shown() -> None:
    result = run("--kernel", "reduce.serial", "--quick")
    assert result.exit_code == 0
    assert "not executed" in result.stdout
    assert "hip: not executed: no ROCm-capable device is detected" in result.stdout


@pytest.mark.usefixtures("hip_without_device")
def test_a_backend_without_a_device_fails_when_it_is_named() -> None:
    result = run("--kernel", "reduce.serial", "--quick", "--backend", "hip")
    assert result.exit_code == 1
    assert "hip was asked for and not executed" in result.stdout
    report = json.loads(run("--quick", "--backend", "hip", "--json").stdout)
    assert report["ok"] is False
    assert report["not_executed"] == {"hip": "no ROCm-capable device is detected"}


def test_a_backend_that_is_not_built_cannot_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    record = gpuport.Backend("cuda", False, False, "nvcc was not found")
    monkeypatch.setattr(gpuport, "backends", lambda: [record])
    result = run("--backend", "cuda")
    assert result.exit_code == 2
    assert "backend cuda is not built: nvcc was not found" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kernel", "reduce.fastest"), "no kernel is called reduce.fastest; there are reduce."),
        (("--backend", "metal"), "'metal' is not one of"),
        (("--warp-size", "16"), "'16' is not one of"),
        (("--nothing",), "No such option"),
    ],
)
def test_a_mistake_in_the_request(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
