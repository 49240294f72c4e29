"""`gpuport inspect` as a person or a CI job calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpuport.cli import main


def call(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, ["inspect", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def as_json(*arguments: str | Path) -> Any:
    return json.loads(call(*arguments, "--json").stdout)


def test_table(cuda_library: Path, hip_library: Path) -> None:
    result = call(cuda_library, hip_library)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert f"{cuda_library}: code for sm_80, sm_90; PTX compute_90" in lines
    assert f"{hip_library}: code for gfx90a, gfx1030" in lines
    header = ["arch", "registers", "AGPRs", "SGPRs", "shared", "stack", "spills",
              "SGPR", "spills", "local", "wavefront", "kernel"]  # fmt: skip
    assert sum(line.split() == header for line in lines) == 2
    rows = [line.split() for line in lines]
    assert ["sm_90", "10", "-", "-", "0", "0", "0", "-", "0", "32", "plain(int*)"] in rows
    wave64 = next(row for row in rows if row[:1] == ["gfx90a"] and row[-1] == "plain(int*)")
    assert wave64[4:-1] == ["0", "0", "0", "0", "-", "64"]


def test_json(hip_library: Path) -> None:
    found = as_json(hip_library)
    assert found["ok"] is True
    assert (found["failures"], found["errors"], found["notes"]) == ([], [], [])
    (file,) = found["files"]
    assert file["path"] == str(hip_library)
    assert file["architectures"] == ["gfx90a", "gfx1030"]
    assert file["host_only"] is False
    (plain,) = (
        kernel
        for kernel in file["kernels"]
        if kernel["symbol"] == "_Z5plainPi" and kernel["architecture"] == "gfx90a"
    )
    assert plain.keys() == {
        "module", "architecture", "symbol", "name", "registers", "agprs", "sgprs", "shared",
        "stack", "spills", "sgpr_spills", "local_accesses", "wavefront",
    }  # fmt: skip
    assert plain["wavefront"] == 64


def test_require(cuda_library: Path) -> None:
    assert call(cuda_library, "--require", "sm_80,sm_90").exit_code == 0
    result = call(cuda_library, "--require", "sm_90,gfx942")
    assert result.exit_code == 1
    assert f"failed: {cuda_library}: gfx942 is missing; no AMD code inside" in result.stderr
    assert call(cuda_library, "--require", "hopper").exit_code == 2
    assert as_json(cuda_library, "--require", "sm_100")["ok"] is False


def test_arch_narrows_what_is_shown(cuda_library: Path) -> None:
    (file,) = as_json(cuda_library, "--arch", "sm_80")["files"]
    assert {kernel["architecture"] for kernel in file["kernels"]} == {"sm_80"}


def test_baseline(cuda_library: Path, hip_library: Path, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    files = (cuda_library, hip_library)
    assert call(*files, "--write-baseline", path).exit_code == 0
    assert call(*files, "--baseline", path).exit_code == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    content["kernels"]["sm_90"]["_Z7spilledPfi"]["spills"] -= 1
    content["kernels"]["gfx90a"]["_Z6framedPii"]["stack"] = 0
    path.write_text(json.dumps(content), encoding="utf-8")
    result = call(*files, "--baseline", path)
    assert result.exit_code == 1
    failed = [line for line in result.stderr.splitlines() if line.startswith("failed: ")]
    assert [line.split(":")[1] for line in failed] == [
        " gfx90a framed(int*, int)",
        " sm_90 spilled(float*, int)",
    ]
    only = call(*files, "--baseline", path, "--arch", "sm_80")
    assert (only.exit_code, only.stderr) == (0, "")
    assert call(*files, "--baseline", tmp_path / "none.json").exit_code == 2


def test_unreadable_files_are_errors_and_the_others_are_shown(
    cuda_library: Path, tmp_path: Path
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing\n", encoding="utf-8")
    result = call(tmp_path / "absent.so", text, tmp_path, cuda_library)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"error: {tmp_path / 'absent.so'}: No such file or directory",
        f"error: {text}: no format that is read here (ELF, wheel, static library, fatbin, "
        "offload bundle, PTX)",
        f"error: {tmp_path}: Is a directory",
    ]
    assert "plain(int*)" in result.stdout


def test_no_baseline_is_written_from_half_of_the_files(cuda_library: Path, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    result = call(cuda_library, tmp_path / "absent.so", "--write-baseline", path)
    assert result.exit_code == 2
    assert not path.exists()


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_host_code_only(options: list[str], tmp_path: Path) -> None:
    import sys

    result = call(sys.executable, *options)
    assert result.exit_code == 0
    if options:
        assert json.loads(result.stdout)["files"][0]["host_only"] is True
    else:
        assert "host code only" in result.stdout
        assert "no GPU code inside" in result.stdout
