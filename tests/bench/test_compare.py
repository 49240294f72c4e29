"""`gpuport compare`: what it sets side by side, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpuport.cli import main
from receipts import copies, failed, receipt, row, write


@pytest.fixture
def compare(tmp_path: Path) -> Any:
    def run(*documents: dict[str, Any], options: tuple[str, ...] = ()) -> Result:
        paths = [write(tmp_path / f"{i}.json", d) for i, d in enumerate(documents)]
        return CliRunner().invoke(main, ["compare", *paths, *options])

    return run


def test_ratios_are_speeds_against_the_first_with_their_spread(compare: Any) -> None:
    old, new = receipt(row("gpuport", 10.0)), receipt(row("gpuport", 8.0))
    result = compare(old, new, options=("--json",))
    assert result.exit_code == 0
    (found,) = json.loads(result.stdout)["rows"]
    assert found["times"] == [10.0, 8.0]
    assert found["speeds"][0]["ratio"] == pytest.approx(10 / 8)
    assert found["speeds"][0]["low"] == pytest.approx(9.0 / 8.8)
    assert found["speeds"][0]["high"] == pytest.approx(11.0 / 7.2)


def test_three_receipts(compare: Any) -> None:
    documents = [receipt(row("gpuport", time)) for time in (10.0, 5.0, 20.0)]
    (found,) = json.loads(compare(*documents, options=("--json",)).stdout)["rows"]
    assert [speed["ratio"] for speed in found["speeds"]] == [2.0, 0.5]


def test_what_differs_in_the_setup_comes_first(compare: Any) -> None:
    old = receipt(row("gpuport", 10.0), device="H200", compiler="nvcc 13.0")
    new = receipt(row("gpuport", 10.0), device="MI300X", compiler="nvcc 13.0")
    new["protocol"]["samples"] = 20
    lines = compare(old, new).stdout.splitlines()
    assert lines[0] == "What differs in the setup:"
    assert lines[1] == "  device: H200 | MI300X"
    assert lines[2] == "  samples: 50 | 20"
    assert not any("compiler" in line for line in lines)
    assert "The setups are the same." in compare(old, old).stdout


def test_a_copy_is_compared_by_its_method(compare: Any) -> None:
    old = receipt(*copies(4.0), row("gpuport", 10.0))
    new = receipt(*copies(2.0), row("gpuport", 10.0))
    found = json.loads(compare(old, new, options=("--json",)).stdout)["rows"]
    assert [(r["name"], r["speeds"][0]["ratio"]) for r in found] == [
        ("memcpy", 2.0),
        ("kernel", 2.0),
        ("reduce.default sum", 1.0),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [1024]}, "only 0.json has reduce int32 65536"),
        ({"dtype": "float32"}, "only 0.json has reduce int32 65536"),
        ({"bytes": 1}, "262144 bytes"),
        ({"pattern": "equal.10"}, "only 0.json"),
        ({"op": "max"}, "only 0.json"),
    ],
)
def test_different_work_is_refused(compare: Any, change: dict[str, Any], message: str) -> None:
    result = compare(receipt(row("gpuport", 10.0)), receipt(row("gpuport", 10.0, **change)))
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("part", ["cold", "graph", "timed"])
def test_different_timing_is_refused(compare: Any, part: str) -> None:
    old, new = receipt(row("gpuport", 10.0)), receipt(row("gpuport", 10.0))
    new["protocol"][part] = "other"
    result = compare(old, new)
    assert result.exit_code == 2
    assert f"{part}: 0.json has" in result.stderr


def test_work_that_one_has_more_is_refused_and_can_be_left_out(compare: Any) -> None:
    old = receipt(row("gpuport", 10.0))
    new = receipt(row("gpuport", 10.0), row("gpuport", 3.0, dtype="float32"))
    assert compare(old, new).exit_code == 2
    result = compare(old, new, options=("--common", "--json"))
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["rows"]) == 1


def test_nothing_in_common_is_refused(compare: Any) -> None:
    old, new = receipt(row("gpuport", 1.0)), receipt(row("gpuport", 1.0, dtype="int8"))
    result = compare(old, new, options=("--common",))
    assert result.exit_code == 2
    assert "no work that all of them have" in result.stderr


def test_fail_below_looks_at_our_kernels_only(compare: Any) -> None:
    old = receipt(row("gpuport", 10.0), row("cub", 10.0))
    assert (
        compare(
            old, receipt(row("gpuport", 10.4), row("cub", 99.0)), options=("--fail-below", "0.95")
        ).exit_code
        == 0
    )
    result = compare(
        old, receipt(row("gpuport", 10.6), row("cub", 10.0)), options=("--fail-below", "0.95")
    )
    assert result.exit_code == 1
    assert "too slow: reduce.default sum, reduce int32 65536: 0.943" in result.stdout


@pytest.mark.parametrize("ratio", ["nan", "inf", "0", "-1"])
def test_a_ratio_that_nothing_is_below_is_refused(compare: Any, ratio: str) -> None:
    old = receipt(row("gpuport", 10.0))
    result = compare(old, old, options=("--fail-below", ratio))
    assert result.exit_code == 2
    assert "a ratio of speeds is more than 0" in result.stderr


def test_a_row_that_lost_its_time_fails(compare: Any) -> None:
    old = receipt(row("gpuport", 10.0))
    new = receipt(failed(row("gpuport", 10.0)))
    assert compare(old, new).exit_code == 0
    result = compare(old, new, options=("--fail-below", "0.5"))
    assert result.exit_code == 1
    assert "receipt 2 has no time" in result.stdout


def test_what_is_no_receipt_is_refused(compare: Any, tmp_path: Path) -> None:
    good = write(tmp_path / "good.json", receipt(row("gpuport", 1.0)))
    other = receipt(row("gpuport", 1.0))
    other["format"] = 99
    for name, text in (("bad.json", "{"), ("list.json", "[]"), ("new.json", json.dumps(other))):
        path = tmp_path / name
        path.write_text(text)
        result = CliRunner().invoke(main, ["compare", good, str(path)])
        assert result.exit_code == 2
        assert f"{name} is no receipt" in result.stderr
    assert CliRunner().invoke(main, ["compare", good]).exit_code == 2


def test_receipts_of_real_runs(tmp_path: Path) -> None:
    """Two runs of the emulator do the same work; another size is another work."""
    paths = []
    for name, size in (("a", "33"), ("b", "33"), ("c", "65")):
        path = tmp_path / f"{name}.json"
        arguments = ["bench", "reduce.single_pass", "--backend", "cpu", "--sizes", size]
        assert CliRunner().invoke(main, [*arguments, "--json", str(path)]).exit_code == 0
        paths.append(str(path))
    assert CliRunner().invoke(main, ["compare", *paths[:2]]).exit_code == 0
    assert CliRunner().invoke(main, ["compare", *paths]).exit_code == 2
