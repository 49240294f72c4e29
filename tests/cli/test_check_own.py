"""`gpuport check FILE.cu --spec SPEC.py`: a user's kernels, right and wrong."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpuport.cli import main
from gpuport.testing import Target

SOURCE = """
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
template <typename T> __global__ void twice(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
extern "C" __global__ void rotate(const float* x, float* y) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[(threadIdx.x + 1) % blockDim.x];
}
"""
SPEC = """
import numpy
from gpuport.testing import KernelSpec

saxpy = KernelSpec(
    kernel="saxpy",
    inputs=lambda n, dtype, rng: {
        "x": rng.standard_normal(n, dtype), "y": rng.standard_normal(n, dtype)
    },
    reference=lambda x, y: 2 * x + y,
    updates="y",
    args=lambda arrays, n: (2.0, arrays.x, arrays.y, n),
    rtol=1e-6,
    atol=1e-6,
)
twice = KernelSpec(
    kernel="twice<{type}>",
    inputs=lambda n, dtype, rng: {"x": rng.integers(0, 9, n).astype(dtype)},
    reference=lambda x: x + x,
    args=lambda arrays, n: (arrays.x, arrays.out, n),
    dtypes=("int32", "float64"),
)
rotate = KernelSpec(
    kernel="rotate",
    inputs=lambda n, dtype, rng: {"x": rng.standard_normal(n, dtype)},
    reference=lambda x: numpy.roll(x, -1),
    args=lambda arrays, n: (arrays.x, arrays.out),
    grid=lambda n: 1,
    block=128,
    shared_mem=lambda n: 4 * 128,
    sizes=(128,),
)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUPORT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("own.cu").write_text(SOURCE)
    Path("spec.py").write_text(SPEC)
    return tmp_path


def run(*words: str) -> Result:
    result = CliRunner().invoke(main, ["check", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def check(*words: str) -> tuple[int, dict[tuple[str, int], dict[str, Any]]]:
    """The exit code, and what was found on the CPU by kernel and warp width."""
    result = run("own.cu", "--spec", "spec.py", "--backend", "cpu", "--json", *words)
    cells = json.loads(result.stdout)["results"]
    return result.exit_code, {(cell["kernel"], cell["warp_size"]): cell for cell in cells}


def edit(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new, 1))


def test_all_right(target: Target) -> None:
    where = ["--backend", target.backend, "--warp-size", str(target.warp_size)]
    result = run("own.cu", "--spec", "spec.py", *where, "--json")
    assert result.exit_code == 0, result.stdout
    cells = json.loads(result.stdout)["results"]
    counts = {cell["kernel"]: cell["passed"] for cell in cells if cell["device"] == target.device}
    assert counts == {"saxpy": 22, "twice": 44, "rotate": 1}


def test_both_widths_by_themselves() -> None:
    code, cells = check("--quick")
    assert code == 0
    assert "0 failed" in run("own.cu", "--spec", "spec.py", "--quick").stdout
    assert {key: cell["passed"] for key, cell in cells.items()} == {
        (kernel, width): count
        for kernel, count in (("saxpy", 9), ("twice", 18), ("rotate", 1))
        for width in (32, 64)
    }


@pytest.mark.parametrize(
    ("old", "new", "check_name"),
    [
        ("if (i < n) y[i] += a", "if (i <= n) y[i] += a", "wrote outside out"),
        ("if (i < n) y[i] += a", "y[i] += a", "wrote outside out"),
        ("if (i < n) y[i] += a", "if (i + 1 < n) y[i] += a", "wrong result"),
        ("float* x, float* y, int n", "float* x, float* y, unsigned n", None),
    ],
)
def test_a_fault_and_the_line_that_shows_it_again(old: str, new: str, check_name: str) -> None:
    edit("own.cu", old, new)
    code, cells = check("--kernel", "saxpy")
    assert code == (check_name is not None)
    for (_, width), cell in cells.items():
        if check_name is None:
            assert cell["ok"]
            continue
        failure = cell["failures"][-1]
        assert failure["check"] == check_name
        program, *words = shlex.split(failure["reproduce"])
        assert program == "gpuport"
        again = CliRunner().invoke(main, words)
        assert again.exit_code == 1
        assert f"saxpy on cpu w{width}, {failure['case']}: {check_name}" in again.stdout
        assert "1 cases" in again.stdout


def test_a_fault_at_one_width() -> None:
    edit("own.cu", "int i = blockIdx", "if (warpSize == 64) return; int i = blockIdx")
    code, cells = check("--kernel", "saxpy", "--quick")
    assert code == 1
    assert cells["saxpy", 32]["ok"]
    assert not cells["saxpy", 64]["ok"]


@pytest.mark.parametrize(
    ("statement", "shows"),
    [
        ("abort();", "crashed"),
        ("__builtin_trap();", "raised"),
        ("y[1ll << 40] = 0;", "raised"),
        ("volatile int zero = 0; y[0] = 7 / zero;", "raised"),
        ("volatile int forever = 1; while (forever);", "raised"),
    ],
    ids=[
        "ends the process",
        "traps",
        "an address of nobody",
        "a division by zero",
        "waits for nobody",
    ],
)
def test_a_kernel_that_goes_wrong_at_one_size(statement: str, shows: str) -> None:
    edit("own.cu", "if (i < n) y[i] += a", f"if (n == 2) {{ {statement} }} if (i < n) y[i] += a")
    code, cells = check("--quick")
    assert code == 1
    for width in (32, 64):
        (failure,) = cells["saxpy", width]["failures"]
        assert (failure["case"], failure["check"]) == ("saxpy-float32-2-own", shows)
        assert cells["saxpy", width]["passed"] == 8
        assert cells["twice", width]["ok"]


def test_a_kernel_that_never_ends() -> None:
    edit(
        "own.cu",
        "if (i < n) y[i] += a",
        "volatile int q = n == 2; while (q) q = q + 2; if (i < n) y[i] += a",
    )
    code, cells = check("--quick", "--timeout", "2")
    assert code == 1
    for width in (32, 64):
        (failure,) = cells["saxpy", width]["failures"]
        assert (failure["case"], failure["check"]) == ("saxpy-float32-2-own", "timed out")
        assert failure["message"] == "did not end within 2 s"
        assert cells["saxpy", width]["passed"] == 8
        assert cells["twice", width]["ok"]
    again = CliRunner().invoke(main, shlex.split(failure["reproduce"])[1:])
    assert again.exit_code == 1
    assert "saxpy-float32-2-own: timed out: did not end within 2 s" in again.stdout


def test_poison_where_nothing_was_written() -> None:
    edit("own.cu", "if (i < n) y[i] = x[i]", "if (i + 1 < n) y[i] = x[i]")
    _, cells = check("--kernel", "twice")
    message = cells["twice", 32]["failures"][0]["message"]
    assert message.startswith("1 of 1 wrong, the first at index 0")
    assert message.endswith("never written")


def test_a_changed_input() -> None:
    edit("own.cu", "const T* x, T* y, int n) {", "T* x, T* y, int n) { x[0] = T(-1);")
    _, cells = check("--kernel", "twice")
    assert {f["check"] for f in cells["twice", 64]["failures"]} == {"changed the input x"}


def test_a_source_that_does_not_compile() -> None:
    edit("own.cu", "a * x[i]", "a * z[i]")
    result = run("own.cu", "--spec", "spec.py")
    assert result.exit_code == 1
    assert "own.cu:4:" in result.stdout
    assert "does not compile" in result.stdout


def test_a_name_that_no_kernel_has() -> None:
    edit("spec.py", 'kernel="rotate"', 'kernel="rotated"')
    code, cells = check("--quick")
    assert code == 1
    assert "rotate" in cells["rotate", 32]["problem"]


def test_what_a_spec_raises_is_a_failure_of_the_case() -> None:
    edit("spec.py", "reference=lambda x: x + x", "reference=lambda x: x + nothing")
    code, cells = check("--kernel", "twice", "--quick")
    assert code == 1
    failure = cells["twice", 32]["failures"][0]
    assert failure["message"] == "NameError: name 'nothing' is not defined"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["own.cu"], "own.cu: what it must compute is missing, as --spec spec.py"),
        (["none.cu", "--spec", "spec.py"], "none.cu: No such file or directory"),
        (["own.cu", "--spec", "none.py"], "none.py: No such file or directory"),
        (["own.cu", "--spec", "broken.py"], "broken.py:2: ZeroDivisionError: division by zero"),
        (["own.cu", "--spec", "empty.py"], "no variable in it is a gpuport.testing.KernelSpec"),
        (["own.cu", "--spec", "sizes.py"], "sizes.py:2: ValueError: sizes=(4, -1): a tuple"),
        (["own.cu", "--spec", "typo.py"], "typo.py:2: TypeError"),
        (["own.cu", "--spec", "spec.py", "--kernel", "x"], "there are saxpy, twice, rotate"),
        (["own.cu", "--spec", "spec.py", "--case", "x"], "there is no case 'x'; there are saxpy-"),
        (["--spec", "spec.py"], "are for a FILE.cu of your own"),
        (["--timeout", "5"], "are for a FILE.cu of your own"),
        (["own.cu", "--spec", "spec.py", "--timeout", "0"], "0 is not in the range"),
    ],
)
def test_a_mistake_is_told_in_a_line(words: list[str], told: str) -> None:
    Path("broken.py").write_text("\n1 / 0\n")
    Path("empty.py").write_text("")
    Path("typo.py").write_text(
        "from gpuport.testing import KernelSpec\nspec = KernelSpec(kernels='saxpy')\n"
    )
    Path("sizes.py").write_text(
        "from gpuport.testing import KernelSpec\n"
        "spec = KernelSpec(kernel='x', inputs=0, reference=0, args=0, sizes=(4, -1))\n"
    )
    result = run(*words)
    assert result.exit_code == 2
    assert told in result.stderr
