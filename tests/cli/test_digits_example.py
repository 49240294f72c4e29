"""The example runs, and fails where the results are wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DIGITS = Path(__file__).parents[2] / "examples" / "digits.py"


def run(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    program = f"{before}\nimport runpy; runpy.run_path({str(DIGITS)!r}, run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("warp_size", ["32", "64"])
def test_digits_agree(warp_size: str) -> None:
    done = run("--backend", "cpu", "--warp-size", warp_size)
    assert done.returncode == 0, done.stderr
    assert "1797 images of 64 pixels" in done.stdout
    assert "sum of all pixels                        ()       561718" in done.stdout
    assert "(1797, 64)" in done.stdout
    assert done.stdout.endswith("all agree with NumPy and SciPy\n")


def test_a_wrong_result_is_an_error() -> None:
    wrong = "import gpuport; right = gpuport.max; gpuport.max = lambda *a, **k: right(*a, **k) + 1"
    done = run(before=wrong)
    assert done.returncode == 1
    assert "brightest pixel of each image" in done.stderr


def test_a_backend_that_cannot_be_used_is_named() -> None:
    missing = "import gpuport._backends as b; b._import = lambda name: 'nvcc was not found'"
    done = run("--backend", "cuda", before=missing)
    assert done.returncode == 2
    assert "cuda" in done.stderr
    assert done.stderr.endswith("nvcc was not found\n")
