"""Finding what compiles HIP for AMD: headers and libraries, device libraries, and a clang.

CMake's HIP language takes clang itself and refuses hipcc. ROCm keeps a clang beside its headers;
distributions package the headers under /usr and clang by its version, and their hipcc knows which.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from .arch import hip_architectures
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

USUAL_ROOTS = ("/opt/rocm", "/usr")
HEADER = "include/hip/hip_runtime.h"
PROBE = "__attribute__((global)) void probe() {}\n"
PROBE_HEADERS = "#include <hip/hip_runtime.h>\n__global__ void probe(float* x) { *x = sinf(*x); }\n"


def find_hip(request: Request) -> Backend:
    """Find the HIP installation and its clang, and resolve the architectures."""
    named = named_programs(request, "CMAKE_HIP_COMPILER", "HIPCXX")
    for program in named:
        if program.name.startswith("hipcc"):
            raise ToolchainError(f"{program}: CMake compiles HIP with clang++ itself, not hipcc")
    root = _find_root(request)
    clang = named[0] if named else _find_clang(request, root)
    bitcode = _find_bitcode(request, root, clang)
    library = _required(request, root, "libamdhip64.so", "lib*", "lib/*-linux-gnu")
    _required(request, root, "hip-lang-config.cmake", "lib*/cmake/hip-lang", "lib/*/cmake/hip-lang")
    flags = [f"--rocm-path={root}", f"--rocm-device-lib-path={bitcode}"]
    compile_only: list[str | Path] = [
        clang,
        "-x",
        "hip",
        *flags,
        "--cuda-device-only",
        "-c",
        "-",
        "-o",
        "/dev/null",
    ]

    @functools.cache
    def supports(name: str) -> bool:
        command = [*compile_only, "-nogpuinc", f"--offload-arch={name}"]
        return run(command, environ=request.environ, stdin=PROBE).returncode == 0

    architectures = hip_architectures(request, supports)
    command: list[str | Path] = [*compile_only, f"--offload-arch={architectures.names[0]}"]
    result = run(command, environ=request.environ, stdin=PROBE_HEADERS)
    if result.returncode != 0:
        error = ToolchainError if named else NotFoundError
        raise error(f"{clang} does not compile HIP: {first_error(result)}")
    return Backend(
        built=True,
        compiler=f"Clang {_clang_version(clang, request)}",
        compiler_path=str(clang),
        runtime=f"HIP {_hip_version(root)}",
        architectures=list(architectures.names),
        architectures_from=architectures.source,
        searched=request.searched,
        cmake={
            "CMAKE_HIP_COMPILER": str(clang),
            "CMAKE_HIP_COMPILER_ROCM_ROOT": str(root),
            "CMAKE_HIP_ARCHITECTURES": ";".join(architectures.cmake),
            "GPUPORT_HIP_PATH_FLAGS": ";".join(flags),
            "GPUPORT_HIP_INCLUDE": str(root / "include"),
            "GPUPORT_HIP_LIBRARY": str(library),
        },
    )


def _find_root(request: Request) -> Path:
    """The folder above include/hip. All that name one must hold the headers; the first is taken."""
    variables = (
        ("CMAKE_HIP_COMPILER_ROCM_ROOT", request.setting("CMAKE_HIP_COMPILER_ROCM_ROOT")),
        ("ROCM_HOME", request.env("ROCM_HOME")),
        ("ROCM_PATH", request.env("ROCM_PATH")),
    )
    named = [named_folder(request, variable, value, HEADER) for variable, value in variables]
    for root in named:
        if root:
            return root
    for place in USUAL_ROOTS:
        header = Path(place) / HEADER
        found = header if header.is_file() else None
        request.look(str(header), "found" if found else None)
        if found:
            return Path(place)
    raise NotFoundError(f"no HIP headers ({HEADER})")


def _find_clang(request: Request, root: Path) -> Path:
    beside = (str(root / "lib/llvm/bin/clang++"), str(root / "llvm/bin/clang++"))
    for candidate in (*beside, *_hipcc_clang(request, root), "clang++"):
        found = request.which(candidate)
        request.look(candidate, found)
        if found:
            return found
    raise NotFoundError(f"HIP headers in {root}, but no clang++")


def _hipcc_clang(request: Request, root: Path) -> list[str]:
    """The names under which the clang that the distribution's hipcc drives may be found."""
    hipcc = root / "bin" / "hipcc"
    # Where nvcc is on PATH hipcc would speak for NVIDIA.
    result = run([hipcc, "--version"], environ={**request.environ, "HIP_PLATFORM": "amd"})
    version = re.search(r"clang version (\d+)", result.stdout)
    folder = re.search(r"^InstalledDir: (.+)$", result.stdout, re.MULTILINE)
    if result.returncode != 0 or version is None or folder is None:
        request.look(f"{hipcc} --version", first_error(result))
        return []
    name = f"clang++-{version[1]}"
    return [f"{folder[1]}/{name}", name, f"{folder[1]}/clang++"]


def _find_bitcode(request: Request, root: Path, clang: Path) -> Path:
    """The AMD device libraries. Clang's own variable for them may name a folder."""
    value = request.env("HIP_DEVICE_LIB_PATH")
    if named := named_folder(request, "HIP_DEVICE_LIB_PATH", value, "ockl.bc"):
        return named
    resource = run([clang, "-print-resource-dir"], environ=request.environ).stdout.strip()
    for base, pattern in (
        (root, "amdgcn/bitcode"),
        (root, "lib/*/amdgcn/bitcode"),
        (root, "lib/llvm/lib/clang/*/lib/amdgcn/bitcode"),
        (Path(resource or "/"), "lib/amdgcn/bitcode"),
        (Path(resource or "/"), "amdgcn/bitcode"),
    ):
        found = next(iter(sorted(base.glob(f"{pattern}/ockl.bc"))), None)
        request.look(f"{base}/{pattern}/ockl.bc", found)
        if found:
            return found.parent
    raise NotFoundError(f"no AMD device libraries (amdgcn/bitcode) for {clang}")


def _required(request: Request, root: Path, name: str, *folders: str) -> Path:
    for folder in folders:
        found = next(iter(sorted(root.glob(f"{folder}/{name}"))), None)
        request.look(f"{root}/{folder}/{name}", found)
        if found:
            return found
    raise NotFoundError(f"no {name} in {root}")


def _clang_version(clang: Path, request: Request) -> str:
    result = run([clang, "--version"], environ=request.environ)
    match = re.search(r"clang version ([\d.]+)", result.stdout)
    if match is None:
        raise ToolchainError(f"{clang} --version failed: {first_error(result)}")
    return match[1]


def _hip_version(root: Path) -> str:
    path = root / "include/hip/hip_version.h"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    parts = dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)", text))
    return ".".join(parts.get(part, "?") for part in ("MAJOR", "MINOR", "PATCH"))
