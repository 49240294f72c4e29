"""What the translator writes is taken by the compilers that it is written for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gpuport.translate.cli import main

HERE = Path(__file__).parent
SIMT = HERE.parents[1] / "kernels/cpu/simt/include"
ZOO = HERE / "zoo.cu"


def compiler(*names: str) -> str:
    for name in names:
        if path := shutil.which(name):
            return path
    pytest.skip(f"none of {', '.join(names)} is here")


def compile_text(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HIP_PLATFORM": "amd"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def compile_cpu(source: Path) -> subprocess.CompletedProcess[str]:
    host = compiler("g++", "clang++")
    return compile_text(
        host, "-std=c++20", "-fsyntax-only", "-Wall", "-I", str(SIMT), "-x", "c++", str(source)
    )


def test_a_host_compiler_takes_the_zoo(tmp_path: Path) -> None:
    output = tmp_path / "zoo.cpp"
    assert main([str(ZOO), "--target", "cpu", "-o", str(output)]) == 0
    run = compile_cpu(output)
    assert run.returncode == 0, run.stderr


def test_a_hip_compiler_takes_the_zoo(tmp_path: Path) -> None:
    hipcc = compiler("hipcc")
    output = tmp_path / "zoo.hip"
    assert main([str(ZOO), "--target", "hip", "-o", str(output)]) == 0
    run = compile_text(hipcc, "-std=c++20", "-fsyntax-only", "--offload-arch=gfx90a", str(output))
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("first", ["", "#pragma once\n", "\ufeff"])
def test_compiler_messages_name_the_original(tmp_path: Path, first: str) -> None:
    source = tmp_path / "my kernel.cu"
    body = "#include <cuda_runtime.h>\n__global__ void k() {\n  __shared__ int\n    a[2];\n"
    body += "  oops();\n}\n"
    source.write_text(first + body, encoding="utf-8")
    line = (first + body).split("\n").index("  oops();") + 1
    output = tmp_path / "out.cpp"
    assert main([str(source), "--target", "cpu", "-o", str(output), "--line-directives"]) == 0
    run = compile_cpu(output)
    assert run.returncode != 0
    assert f"{source}:{line}:3: error:" in run.stderr
