"""The compilers that make the inputs of these tests; where one is missing the tests skip."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("kernels.cu")


def program(*names: str) -> str:
    """The first of these that is on PATH; a skip where there is none."""
    for name in names:
        if found := shutil.which(name):
            return found
    pytest.skip(f"needs {' or '.join(names)}")


def run(*command: str | Path, **environ: str) -> str:
    """Standard output and error; a failure of the command is a failure of the test."""
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}"
    return done.stdout


@cache
def cubin_of(arch: str) -> tuple[Path, str]:
    """kernels.cu compiled once a session for one architecture, and what ptxas reports of it."""
    output = Path(_folder().name) / f"{arch}.cubin"
    options = ["-cubin", f"-arch={arch}", "-Xptxas", "-v"]
    return output, run(program("nvcc"), *options, SOURCE, "-o", output)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gpuport-inspection-")


def nvcc(output: Path, *options: str | Path, source: Path = SOURCE) -> Path:
    run(program("nvcc"), *options, source, "-o", output)
    return output


def gencode(*pairs: str) -> list[str]:
    """gencode("80:sm_80", "90:sm_90,compute_90") as nvcc's options."""
    options = []
    for pair in pairs:
        virtual, _, code = pair.partition(":")
        options += ["-gencode", f"arch=compute_{virtual},code=[{code}]"]
    return options


@cache
def _hip_clang() -> list[str]:
    """A clang that compiles HIP for gfx90a and gfx1030 here, with the options that it needs."""
    probe = Path(_folder().name) / "probe.hip"
    text = "#include <hip/hip_runtime.h>\n__global__ void probe() {}\n"
    probe.write_text(text, encoding="utf-8")
    candidates = [["hipcc"]] if shutil.which("hipcc") else []
    for version in (19, 15):
        if found := shutil.which(f"clang-{version}"):
            bitcode = next(Path("/usr/lib").glob("*/amdgcn/bitcode"), None)
            candidates.append(
                [found, "--driver-mode=g++", "-x", "hip", "--rocm-path=/usr"]
                + ([f"--rocm-device-lib-path={bitcode}"] if bitcode else [])
            )
    for candidate in candidates:
        targets = ["--offload-arch=gfx90a", "--offload-arch=gfx1030"]
        done = subprocess.run(
            [*candidate, *targets, "-c", str(probe), "-o", os.devnull],
            env={**os.environ, "HIP_PLATFORM": "amd"},
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            return candidate
    return []


def hip(output: Path, *options: str) -> Path:
    """kernels.cu compiled as HIP."""
    compiler = _hip_clang()
    if not compiler:
        pytest.skip("needs a HIP compiler: hipcc, or clang with the ROCm device libraries")
    language = [] if "-x" in compiler else ["-x", "hip"]
    run(*compiler, "-O2", *options, *language, SOURCE, "-o", output, HIP_PLATFORM="amd")
    return output
