"""`gpuport cache info` and `gpuport cache clear`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import gpuport
from gpuport.cli import main


def run(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["cache", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_info_and_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("GPUPORT_CACHE_DIR", str(folder))
    empty = {"folder": str(folder), "modules": 0, "bytes": 0, "unfinished": 0}
    assert json.loads(run("info", "--json")) == empty
    module = gpuport.load("\n__global__ void k() {}\n", backend="cpu")
    found = json.loads(run("info", "--json"))
    size = sum(path.stat().st_size for path in folder.glob("*/*/*"))
    assert found == {"folder": str(folder), "modules": 1, "bytes": size, "unfinished": 0}
    assert f"modules     1, {size / 1e6:.1f} MB" in run("info")
    assert run("clear", "--older-than", "1") == "removed 0 modules, 0.0 MB\n"
    assert json.loads(run("clear", "--json")) == {"modules": 1, "bytes": size, "unfinished": 0}
    assert json.loads(run("info", "--json")) == empty
    module.k(1, 1)  # what is loaded stays loaded
    assert run("clear") == "removed 0 modules, 0.0 MB\n"
