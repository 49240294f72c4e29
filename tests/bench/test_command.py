"""`gpuport bench` from the outside, on the CPU backend."""

from __future__ import annotations

import json
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from gpuport.bench import run as bench_run
from gpuport.cli import main


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["bench", "--backend", "cpu", *arguments])


def test_a_receipt(tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    small = ("--sizes", "4099", "--dtypes", "int32,float32", "--samples", "4", "--json", str(path))
    result = bench("reduce.single_pass", "scan.default", *small)
    assert result.exit_code == 0, result.output
    assert "emulator" in result.stdout
    document = json.loads(path.read_text())
    setup, rows = document["setup"], document["rows"]
    assert "emulator" in setup["times"]
    for hashed in ("sources_sha256", "binary_sha256"):
        assert len(setup[hashed]) == 64
    for fact in ("compiler", "toolkit", "flags", "device", "gpuport", "python"):
        assert setup[fact], fact
    assert document["protocol"]["cache"].startswith("cold")
    ours = [row for row in rows if row["library"] == "gpuport"]
    assert {(row["name"], row["dtype"]) for row in ours} == {
        (name, dtype)
        for name in ("reduce.single_pass", "scan.default")
        for dtype in ("int32", "float32")
    }
    for row in ours:
        assert [len(run) for run in row["samples_us"]] == [4]
        assert row["median_us"] == pytest.approx(np.median(row["samples_us"][0]))
        assert row["gb_per_s"] == pytest.approx(row["bytes"] / row["median_us"] / 1e3)
        copies = [
            copy
            for copy in rows
            if copy["op"] == "copy"
            and (copy["family"], copy["dtype"]) == (row["family"], row["dtype"])
        ]
        best = min(copy["median_us"] for copy in copies)
        assert row["percent_of_copy"] == pytest.approx(100 * best / row["median_us"])


def test_a_receipt_names_no_host_and_no_path() -> None:
    result = bench("reduce.single_pass", "--sizes", "33", "--json", "-")
    assert result.exit_code == 0
    json.loads(result.stdout)
    for private in (str(Path.home()), str(Path.cwd()), platform.node()):
        assert private not in result.stdout


def test_a_wrong_result_has_no_time_and_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = bench_run.workload

    def lying(family: str, shape: Any) -> Any:
        work = real(family, shape)
        return replace(work, expected=work.expected + 1)

    monkeypatch.setattr(bench_run, "workload", lying)
    path = tmp_path / "receipt.json"
    result = bench("reduce.single_pass", "--sizes", "33", "--dtypes", "int32", "--json", str(path))
    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    (row,) = (r for r in json.loads(path.read_text())["rows"] if r["library"] == "gpuport")
    assert row["status"] == "FAILED"
    assert row["samples_us"] == []
    assert "median_us" not in row


def test_a_peer_that_is_not_here_is_named() -> None:
    result = bench("reduce.single_pass", "--sizes", "33", "--against", "cub,torch")
    assert result.exit_code == 0
    assert "cub: not measured: it runs on GPUs only" in result.stdout
    assert "torch: not measured" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reduce.none",), "no kernel is called reduce.none"),
        (("reduce", "--sizes", "many"), "'many' is no size"),
        (("reduce", "--sizes", "0"), "has no elements"),
        (("reduce", "--dtypes", "int128"), "no dtype is called int128"),
        (("reduce", "--against", "thrust"), "no peer is called thrust"),
        (("reduce", "--graph"), "no graphs"),
        (("reduce", "--sizes", "2^80"), "more than any array holds"),
        (("reduce", "--device", "9"), "backend cpu has no device 9: it has 1"),
        (("reduce", "--device", "-1"), "backend cpu has no device -1: it has 1"),
        (("reduce", "--json", "nowhere/r.json"), "there is no folder nowhere"),
        (("reduce", "--plot", "nowhere/r.png"), "there is no folder nowhere"),
        (("reduce", "--plot", "r.txt"), "r.txt names no format of a picture"),
        (("reduce", "--plot", "r"), "r names no format of a picture"),
    ],
)
def test_a_request_that_cannot_be_met(arguments: tuple[str, ...], message: str) -> None:
    result = bench(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("option", ["--sizes", "--dtypes", "--against"])
@pytest.mark.parametrize("value", ["", ",", " , "])
def test_an_option_that_names_nothing(option: str, value: str) -> None:
    result = bench("reduce.single_pass", option, value)
    assert result.exit_code == 2
    assert "names nothing" in result.output


@pytest.mark.parametrize("size", ["2^44", "2^62", "2^63", "2^70", "2^40x2^40"])
def test_a_size_that_no_memory_holds(size: str) -> None:
    result = bench("reduce.single_pass", "--sizes", size, "--dtypes", "float32")
    assert result.exit_code == 2, result.exception
    assert result.output.startswith("Usage:")


def test_sizes_that_fit_are_run_beside_one_that_does_not() -> None:
    result = bench("reduce.single_pass", "--sizes", "2^44,33", "--dtypes", "int32", "--json", "-")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert {tuple(row["shape"]) for row in document["rows"]} == {(33,)}
    [remark] = document["remarks"]
    assert "reduce int32 17592186044416 does not fit in memory" in remark


def test_a_backend_without_a_device_is_refused() -> None:
    result = CliRunner().invoke(main, ["bench", "--backend", "hip", "reduce", "--sizes", "33"])
    if result.exit_code == 0:
        pytest.skip("there is an AMD GPU here")
    assert result.exit_code == 2
    assert "hip" in result.stderr


def test_shapes_of_the_specs_are_cut_for_the_emulator() -> None:
    result = bench("softmax.serial", "--samples", "1", "--warmups", "0")
    assert result.exit_code == 0
    assert "softmax float32 64x1024" in result.stdout
    assert "cut to 65536 elements" in result.stdout


def test_a_size_of_one_axis_has_no_first_of_two() -> None:
    """The kernel's own shapes run along the first axis of matrices."""
    result = bench("softmax.columns", "--sizes", "100,64x33", "--dtypes", "float32")
    assert result.exit_code == 0, result.output
    assert "softmax float32 100\n" in result.stdout
    assert "softmax float32 64x33 axis0" in result.stdout


def test_results_below_the_normal_numbers_are_right_to_a_step() -> None:
    """float16 has no relative precision below 2^-14, where a softmax's least results are."""
    result = bench("softmax.columns", "softmax.warp_row", "--sizes", "64x33", "--dtypes", "float16")
    assert result.exit_code == 0, result.output
