"""`gpuport build`: outputs, the manifest, the table, and what a mistake is told."""

from __future__ import annotations

import ctypes
import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpuport.cli import main
from gpuport.errors import BackendUnavailableError
from gpuport.inspection import inspect
from gpuport.loading.ahead import require_compiler

GOOD = """#include "factor.h"
extern "C" __global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= FACTOR;
}
template <typename T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
"""
BAD = """__global__ void broken(float* x) {
    x[0] = no_such_name;
}
"""
ARCHS = {"cpu": "cpu", "cuda": "sm_90", "hip": "gfx90a"}


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, ["build", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def good(tmp_path: Path) -> Path:
    (tmp_path / "factor.h").write_text("#pragma once\n#define FACTOR 3\n")
    path = tmp_path / "good.cu"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.cu"
    path.write_text(BAD)
    return path


def test_what_means_something_else_is_warned_of(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k() {\n#if __CUDA_ARCH__ >= 700\n#endif\n}\n")
    result = run(source, "--backend", "cpu", "-o", tmp_path / "out", "--json")
    (output,) = json.loads(result.stdout)["outputs"]
    (warning,) = output["warnings"]
    assert warning.startswith(f"{source}:2: #if __CUDA_ARCH__ >= 700: ")
    assert f"warning: {warning}\n" in result.stderr


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def require(backend: str) -> None:
    try:
        require_compiler(backend)
    except BackendUnavailableError as error:
        pytest.skip(str(error))


def test_the_cpu_by_itself(good: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    result = run(good, "-o", out, "--name-expression", "fill<int>", "-D", "UNUSED=1", "--json")
    assert result.exit_code == 0
    described = json.loads((out / "manifest.json").read_text())
    assert {name: described[name] for name in described} == {
        name: value for name, value in json.loads(result.stdout).items() if name != "resources"
    }
    assert sorted(path.name for path in out.iterdir()) == ["good.cpu.so", "manifest.json"]
    assert described["ok"]
    assert described["failures"] == []
    assert described["sources"] == [
        {
            "path": str(good),
            "sha256": sha256(good),
            "headers": [
                {"path": str(tmp_path / "factor.h"), "sha256": sha256(tmp_path / "factor.h")}
            ],
        }
    ]
    (output,) = described["outputs"]
    assert output["file"] == "good.cpu.so"
    assert output["sha256"] == sha256(out / "good.cpu.so")
    assert output["flags"] == ["-DUNUSED=1"]
    assert [kernel["name"] for kernel in output["kernels"]] == ["scale", "fill<int>"]
    assert output["compiler"]
    assert any(digit in output["compiler_version"] for digit in "123456789")
    ctypes.CDLL(str(out / "good.cpu.so"))


@pytest.mark.parametrize("backend", ["cuda", "hip"])
def test_machine_code_and_its_table(backend: str, good: Path, tmp_path: Path) -> None:
    require(backend)
    out, arch = tmp_path / "out", ARCHS[backend]
    result = run(good, "--arch", arch, "-o", out)
    assert result.exit_code == 0, result.stderr
    (output,) = json.loads((out / "manifest.json").read_text())["outputs"]
    assert (output["backend"], output["architecture"]) == (backend, arch)
    assert output["compiler_version"]
    (kernel,) = inspect(out / output["file"])
    assert (kernel.name, kernel.architecture) == ("scale", arch)
    line = next(line for line in result.stdout.splitlines() if line.endswith(" scale"))
    assert line.split()[:2] == [arch, str(kernel.registers)]


def test_several_of_everything(good: Path, tmp_path: Path) -> None:
    for backend in ARCHS:
        require(backend)
    other, out = tmp_path / "other.cu", tmp_path / "out"
    other.write_text(GOOD)
    asked = [word for backend in ARCHS for word in ("--backend", backend)]
    result = run(good, other, *asked, "--arch", "sm_80,sm_90,compute_90,gfx90a", "-o", out)
    assert result.exit_code == 0, result.stderr
    names = "cpu.so sm_80.cubin sm_90.cubin compute_90.ptx gfx90a.hsaco".split()
    expected = [f"{stem}.{name}" for stem in ("good", "other") for name in names]
    assert sorted(path.name for path in out.iterdir()) == sorted([*expected, "manifest.json"])
    assert "10 of 10 built" in result.stdout


@pytest.mark.parametrize("backend", list(ARCHS))
def test_the_compiler_s_words(backend: str, good: Path, bad: Path, tmp_path: Path) -> None:
    """With the file and line as the user knows them; what is right is built all the same."""
    require(backend)
    out = tmp_path / "out"
    out.mkdir()
    arch = [] if backend == "cpu" else ["--arch", ARCHS[backend]]
    suffixes = (".so", ".cubin", ".hsaco")
    stale = [out / f"bad.{ARCHS[backend]}{suffix}" for suffix in suffixes]
    mine = out / f"bad.{ARCHS[backend]}.cu"
    for path in (*stale, mine):
        path.write_text("older")
    result = run(good, bad, *arch, "-o", out)
    assert result.exit_code == 1
    assert str(bad) in result.stderr
    assert "no_such_name" in result.stderr
    line = f"{bad}(2)" if backend == "cuda" else f"{bad}:2:"
    assert line in result.stderr
    assert "1 of 2 built" in result.stdout
    described = json.loads((out / "manifest.json").read_text())
    assert not described["ok"]
    assert [failure["source"] for failure in described["failures"]] == [str(bad)]
    assert [output["source"] for output in described["outputs"]] == [str(good)]
    assert mine.exists()
    assert not any(path.exists() for path in stale)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--arch", "sm90"], "'sm90' is no architecture such as sm_90, compute_90 or gfx90a"),
        (["--backend", "cuda"], "backend cuda needs an architecture, as --arch sm_90"),
        (["--backend", "cpu", "--arch", "gfx90a"], "of the backend hip, which is not asked for"),
        (["missing.cu"], "missing.cu: No such file or directory"),
        (["folder/good.cu"], "would both be written to good.cpu"),
    ],
)
def test_a_mistake_is_told_in_a_line(
    words: list[str], told: str, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("folder/good.cu").write_text(GOOD)
    result = run(good, *words, "-o", "out")
    assert result.exit_code == 2
    assert told in result.stderr
    assert not Path("out").exists()


def test_an_output_that_is_a_file(good: Path) -> None:
    result = run(good, "-o", good)
    assert result.exit_code == 2
    assert "File exists" in result.stderr
    assert good.read_text() == GOOD
