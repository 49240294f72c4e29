"""Finding nvcc: what is named must exist; only then is anything searched for."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from .arch import cuda_architectures
from .backend import (
    Backend,
    NotFoundError,
    Request,
    ToolchainError,
    first_error,
    named_folder,
    named_programs,
    run,
)

USUAL_PLACE = "/usr/local/cuda/bin/nvcc"
# Compiled and linked: CMake's own check of the compiler links too, and would stop the build.
PROBE = "__global__ void probe() {}\nint main() { probe<<<1, 1>>>(); }\n"


def find_cuda(request: Request) -> Backend:
    """Find nvcc, ask it what it is, and resolve the architectures."""
    nvcc, named = _find_nvcc(request)
    version = _version(nvcc, request)
    known = _known_architectures(nvcc, request)
    architectures = cuda_architectures(request, known)
    if problem := _compile_problem(nvcc, known[-1], request):
        error = ToolchainError if named else NotFoundError
        raise error(f"{nvcc} does not compile: {problem}")
    return Backend(
        built=True,
        compiler=f"NVIDIA {version}",
        compiler_path=str(nvcc),
        runtime=f"CUDA {'.'.join(version.split('.')[:2])}",
        architectures=list(architectures.names),
        architectures_from=architectures.source,
        searched=request.searched,
        cmake={
            "CMAKE_CUDA_COMPILER": str(nvcc),
            "CMAKE_CUDA_ARCHITECTURES": ";".join(architectures.cmake),
        },
    )


def _find_nvcc(request: Request) -> tuple[Path, bool]:
    """The nvcc to use, and whether a setting or a variable named it."""
    named = named_programs(request, "CMAKE_CUDA_COMPILER", "CUDACXX")
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := named_folder(request, variable, request.env(variable), "bin/nvcc"):
            named.append(root / "bin/nvcc")
    if named:
        return named[0], True
    for place, where in (("nvcc", "PATH: nvcc"), (USUAL_PLACE, USUAL_PLACE)):
        found = request.which(place)
        request.look(where, found)
        if found:
            return found, False
    raise NotFoundError("no nvcc")


def _version(nvcc: Path, request: Request) -> str:
    result = run([nvcc, "--version"], environ=request.environ)
    match = re.search(r"release [\d.]+, V([\d.]+)", result.stdout)
    if result.returncode != 0 or match is None:
        raise ToolchainError(f"{nvcc} --version failed: {first_error(result)}")
    return match[1]


def _known_architectures(nvcc: Path, request: Request) -> list[int]:
    result = run([nvcc, "--list-gpu-arch"], environ=request.environ)
    known = sorted({int(number) for number in re.findall(r"compute_(\d+)\b", result.stdout)})
    if result.returncode != 0 or not known:
        raise ToolchainError(f"{nvcc} --list-gpu-arch failed: {first_error(result)}")
    return known


def _compile_problem(nvcc: Path, architecture: int, request: Request) -> str:
    """What is wrong with an nvcc that lacks headers, libraries, or a host compiler it accepts."""
    host = request.setting("CMAKE_CUDA_HOST_COMPILER") or request.env("CUDAHOSTCXX")
    with tempfile.TemporaryDirectory(prefix="gpuport-probe-") as folder:
        source = Path(folder) / "probe.cu"
        source.write_text(PROBE, encoding="utf-8")
        command: list[str | Path] = [nvcc, "-std=c++20", f"-arch=sm_{architecture}"]
        command += [source, "-o", f"{folder}/probe"]
        if host:
            command += ["-ccbin", host]
        result = run(command, environ=request.environ)
    return first_error(result) if result.returncode else ""
