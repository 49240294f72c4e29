"""benchmarks/targets.py and benchmarks/readme_table.py on receipts made by hand, and the plot."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gpuport.bench import plot
from gpuport.bench.plan import parse_size
from receipts import copies, failed, receipt, row

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def targets() -> ModuleType:
    return script("targets")


@pytest.fixture(scope="module")
def table() -> ModuleType:
    return script("readme_table")


def verdicts(targets: ModuleType, target: dict[str, Any], rows: list[Any]) -> list[Any]:
    (shape,) = targets.shapes_of(target)
    (size,) = dict.fromkeys(s for b in targets.BOUNDS for s in target.get(b, {}))
    return list(targets.judge(target, shape, size, rows))


SUM = {"kernel": "reduce.default", "dtypes": ["int32"], "than": ["cub"]}


def test_a_target_against_a_peer(targets: ModuleType) -> None:
    target = {**SUM, "at_most": {"2^16": 0.65}}
    rows = [*copies(2.0), row("gpuport", 6.5), row("cub", 10.0), row("torch", 1.0)]
    (verdict,) = verdicts(targets, target, rows)
    assert (verdict.got, verdict.reached) == (pytest.approx(0.65), True)
    rows[2] = row("gpuport", 6.6)
    assert not verdicts(targets, target, rows)[0].reached


def test_the_fastest_of_several_peers_counts(targets: ModuleType) -> None:
    target = {**SUM, "than": ["cub", "torch"], "at_most": {"2^16": 1}}
    rows = [row("gpuport", 6.5), row("cub", 10.0), row("torch", 6.0)]
    (verdict,) = verdicts(targets, target, rows)
    assert verdict.got == pytest.approx(6.5 / 6.0)
    assert verdict.rule == "of torch's time"


def test_a_peer_that_is_missing_leaves_a_target_missed(targets: ModuleType) -> None:
    (verdict,) = verdicts(targets, {**SUM, "at_most": {"2^16": 1}}, [row("gpuport", 1.0)])
    assert (verdict.got, verdict.reached, verdict.reason) == (None, False, "not measured")


def test_a_row_without_a_time_leaves_a_target_missed(targets: ModuleType) -> None:
    rows = [failed(row("gpuport", 1.0)), row("cub", 1.0)]
    (verdict,) = verdicts(targets, {**SUM, "at_most": {"2^16": 1}}, rows)
    assert (verdict.reached, verdict.reason) == (False, "FAILED")


def test_targets_against_the_copy(targets: ModuleType) -> None:
    rows = [*copies(4.0), row("gpuport", 5.0)]
    (verdict,) = verdicts(targets, {**SUM, "of_copy": {"2^16": 1.2}}, rows)
    assert (verdict.got, verdict.reached) == (pytest.approx(1.25), False)
    (verdict,) = verdicts(targets, {**SUM, "percent": {"2^16": 79}}, rows)
    assert (verdict.got, verdict.reached) == (pytest.approx(80), True)
    (verdict,) = verdicts(targets, {**SUM, "us": {"2^16": 5.0}}, rows)
    assert not verdict.reached


def test_published_rates_are_scaled_by_the_copy(targets: ModuleType) -> None:
    """64 MiB arrays: published beside a copy of 4,001 GB/s; here the copy runs at half of that."""
    nbytes = 2 * 64 * 2**20
    copy_us = nbytes / 2000.5 / 1e3
    rows = [
        *copies(copy_us, bytes=nbytes),
        row("gpuport", nbytes / 1900 / 1e3, bytes=nbytes),
    ]
    target = {**SUM, "quack_gb_per_s": {"2^16": 3800}}
    (verdict,) = verdicts(targets, target, rows)
    assert verdict.got == pytest.approx(1.0)
    assert "1900 GB/s" in verdict.rule


def test_every_target_of_the_file_can_be_run(targets: ModuleType) -> None:
    from gpuport.bench.plan import chosen

    for target in targets.load()["target"]:
        assert target["timed"] in ("events", "graph")
        for than in target.get("than", []):
            if "." in than:
                chosen([than])
        chosen([target["kernel"]])
        assert targets.shapes_of(target)
        if "at_most" in target:
            assert target["than"]


def test_a_missed_target_is_shown(targets: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    document = receipt(*copies(2.0), row("gpuport", 9.0), row("cub", 10.0))
    assert targets.show([document]) > 0
    shown = capsys.readouterr().out
    assert "MISSED  sum int32 2^16" in shown
    assert "0.900 (target 0.65) of cub's time" in shown


def test_the_readme_table(table: ModuleType) -> None:
    softmax = {"family": "softmax", "op": "softmax", "dtype": "float32", "result": "float32"}
    document = receipt(
        row("gpuport", 5.0, percent_of_copy=80.0),
        row("cub", 10.0, version="3.0"),
        row("torch", 7.5, version="2.11"),
        row("gpuport", 30.0, name="softmax.default", shape=[4096, 1000], **softmax),
        row("torch", 15.0, shape=[4096, 1000], version="2.11", **softmax),
    )
    made = table.made([document])
    assert "| sum, int32 to int64 | 5.0, 1.50x torch, 80 % |" in made
    assert "| 4,096 x 1,000 | 30.0, **0.50x torch** |" in made
    assert "| 2^16 |" in made
    assert "GPU, driver 580, CUDA 13.0, cub 3.0, torch 2.11" in made


def test_the_table_is_put_between_its_markers(table: ModuleType, tmp_path: Path) -> None:
    text = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
    new = table.placed(text, "new")
    assert new == f"before\n{table.BEGIN}\nnew\n{table.END}\nafter\n"
    assert table.placed(new, "new") == new
    with pytest.raises(ValueError, match="there is no"):
        table.placed("no markers", "new")


def test_panels_of_a_plot() -> None:
    document = receipt(
        *copies(4.0),
        row("gpuport", 5.0),
        failed(row("cub", 5.0)),
        *copies(2.0, shape=[131072], bytes=524288),
        row("gpuport", 5.0, shape=[131072], bytes=524288),
    )
    found = plot.panels([document])
    assert found == {
        "sum int32": {
            "copy": [(65536, pytest.approx(65.536)), (131072, pytest.approx(262.144))],
            "gpuport": [(65536, pytest.approx(52.4288)), (131072, pytest.approx(104.8576))],
        }
    }


def test_a_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "plot.png"
    plot.draw([receipt(*copies(4.0), row("gpuport", 5.0))], path)
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="nothing to draw"):
        plot.draw([receipt()], path)


def test_a_plot_without_matplotlib_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plot, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"gpuport\[plot\]"):
        plot.draw([receipt()], tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 9}'])
@pytest.mark.parametrize("command", [["targets.py", "show"], ["readme_table.py"]])
def test_scripts_refuse_what_is_no_receipt(command: list[str], text: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    script, *options = command
    done = subprocess.run(
        [sys.executable, BENCHMARKS / script, *options, path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "r.json is no receipt" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "shape"),
    [("4096", (4096,)), ("2^24", (2**24,)), ("4096x1000", (4096, 1000)), ("1x2^24", (1, 2**24))],
)
def test_sizes(text: str, shape: tuple[int, ...]) -> None:
    assert parse_size(text) == shape
