"""`gpuport info`, and the command line as a whole."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib.metadata import version

import pytest
from click.testing import CliRunner

import gpuport
from gpuport.cli import COMMANDS, main


def gpuport_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpuport", *arguments], capture_output=True, text=True, check=False
    )


def test_info_names_every_backend() -> None:
    result = CliRunner().invoke(main, ["info"])
    assert result.exit_code == 0
    assert f"gpuport {version('gpuport')}, numpy {version('numpy')}" in result.stdout
    assert "cpu: built" in result.stdout
    assert "32, 64" in result.stdout
    for backend in gpuport.backends():
        assert backend.name in result.stdout
        assert " ".join(backend.reason.split()) in " ".join(result.stdout.split())


def test_the_cpu_is_one_line() -> None:
    lines = CliRunner().invoke(main, ["info"]).stdout.splitlines()
    (line,) = (line for line in lines if "SIMT machine" in line)
    assert line.startswith(
        f"  device 0       SIMT machine, {platform.machine()}, warps of 32 or 64, "
    )
    assert line.endswith(" GiB")
    assert "sm_" not in line


def test_info_as_json() -> None:
    result = CliRunner().invoke(main, ["info", "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert set(found["versions"]) == {"gpuport", "numpy", "python"}
    assert [backend["name"] for backend in found["backends"]] == ["cpu", "cuda", "hip"]
    (cpu,) = (device for device in found["devices"] if device["backend"] == "cpu")
    assert cpu["warp_sizes"] == [32, 64]
    assert found["kernels"] == [kernel.name for kernel in gpuport.kernels()]


def test_info_says_why_a_backend_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = gpuport.Backend(
        "cuda", False, False, "nvcc was not found", searched=("$CUDACXX", "PATH")
    )
    idle = gpuport.Backend(
        "hip", True, False, "no device", ("gfx90a",), compiler="hipcc 5.2", warp_sizes=(32, 64)
    )
    monkeypatch.setattr(gpuport, "backends", lambda: [missing, idle])
    out = CliRunner().invoke(main, ["info"]).stdout
    for text in ("cuda: not built", "nvcc was not found", "$CUDACXX, PATH"):
        assert text in out
    for text in ("hip: built", "gfx90a", "hipcc 5.2", "none: no device"):
        assert text in out


def test_the_module_runs_as_a_program() -> None:
    done = gpuport_command("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert name in done.stdout


def test_version() -> None:
    assert gpuport_command("--version").stdout == f"gpuport {version('gpuport')}\n"


def test_an_unknown_command_is_refused() -> None:
    done = gpuport_command("optimise")
    assert done.returncode == 2
    assert "No such command 'optimise'" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_imports_no_command() -> None:
    program = (
        "import sys; from gpuport.cli import COMMANDS; "
        "sys.exit(any(m in sys.modules for m in ('rich', 'gpuport.testing', *COMMANDS.values())))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_hipify_has_the_translators_own_help() -> None:
    done = gpuport_command("hipify", "--help")
    assert done.returncode == 0
    assert "--target" in done.stdout
