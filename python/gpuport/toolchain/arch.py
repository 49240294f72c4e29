"""Which GPU architectures to compile for.

The first of these that is set wins; the answer never depends on the GPU of the machine that builds,
unless it is asked to (``native``):

1. ``CMAKE_CUDA_ARCHITECTURES`` / ``CMAKE_HIP_ARCHITECTURES``, CMake's own form
   (``80;90-real;120-virtual``, ``all``, ``all-major``, ``native`` / ``gfx90a;gfx1030``)
2. ``CUDAARCHS``, the same form
3. ``TORCH_CUDA_ARCH_LIST`` (``8.0;9.0+PTX``, ``Hopper``) / ``PYTORCH_ROCM_ARCH``, ``GPU_TARGETS``
4. the default list below
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .backend import Request, ToolchainError, first_error, run

# One real target for each main generation. sm_86 and sm_89 run sm_80's code, sm_103 runs sm_100's
# and sm_121 sm_120's: within a major version a device runs the code of every lower minor version.
CUDA_DEFAULT = (75, 80, 90, 100, 120)

# Wave64 (gfx90a, gfx942) and wave32 (gfx1030, gfx1100, gfx1200) of the main generations. A compiler
# or a set of device libraries that does not know one of them leaves it out.
HIP_DEFAULT = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200")

# The names that TORCH_CUDA_ARCH_LIST takes beside numbers.
TORCH_NAMES = {
    "Turing": "7.5+PTX",
    "Ampere": "8.0;8.6+PTX",
    "Ampere+Tegra": "8.7",
    "Ada": "8.9+PTX",
    "Hopper": "9.0+PTX",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
    "Blackwell+Tegra": "11.0",
}


@dataclass(frozen=True)
class Architectures:
    """`names` is what is reported (sm_80, compute_120, gfx90a), `cmake` what CMake is given."""

    names: tuple[str, ...]
    cmake: tuple[str, ...]
    source: str


def cuda_architectures(request: Request, known: Sequence[int]) -> Architectures:
    """Resolve the list for nvcc; `known` are the architectures that this nvcc compiles for."""
    for source, value in _named(request, "CMAKE_CUDA_ARCHITECTURES", "CUDAARCHS"):
        return _cuda_list(_cmake_entries(request, source, value, known), source, known)
    if value := request.env("TORCH_CUDA_ARCH_LIST"):
        entries = _torch_entries(value)
        return _cuda_list(entries, "TORCH_CUDA_ARCH_LIST", known)
    real = [number for number in CUDA_DEFAULT if number in known]
    if not real:
        raise ToolchainError(f"nvcc compiles for none of the default architectures {CUDA_DEFAULT}")
    entries = [f"{number}-real" for number in real] + [f"{real[-1]}-virtual"]
    return _cuda_list(entries, "default", known)


def hip_architectures(request: Request, supports: Callable[[str], bool]) -> Architectures:
    """Resolve the list for clang; `supports` says whether it can compile for one."""
    named = _named(request, "CMAKE_HIP_ARCHITECTURES", "PYTORCH_ROCM_ARCH", "GPU_TARGETS")
    for source, value in named:
        names = _words(value)
        if names == ["native"]:
            names = _native_hip(request, source)
        if not names:
            raise ToolchainError(f"{source}={value!r} names no architecture")
        for name in names:
            if not re.fullmatch(r"gfx[0-9a-f]{3,4}(:(xnack|sramecc)[+-])*", name):
                raise ToolchainError(f"{source}: {name!r} is no AMD architecture such as gfx90a")
            if not supports(name):
                raise ToolchainError(
                    f"{source}: {name} is unknown to this compiler or has no device library here"
                )
        return Architectures(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(names)), source)
    names = [name for name in HIP_DEFAULT if supports(name)]
    if not names:
        raise ToolchainError(f"the compiler knows none of {', '.join(HIP_DEFAULT)}")
    return Architectures(tuple(names), tuple(names), "default")


def _named(request: Request, setting: str, *variables: str) -> list[tuple[str, str]]:
    """The settings that are present, the strongest first. GPU_TARGETS may be either kind."""
    found = []
    for name in (setting, *variables):
        if name in request.settings:
            found.append((name, request.settings[name]))
        elif name != setting and request.env(name):
            found.append((name, request.env(name)))
    return found


def _words(value: str) -> list[str]:
    return [word for word in re.split(r"[;,\s]+", value.strip()) if word]


def _cmake_entries(request: Request, source: str, value: str, known: Sequence[int]) -> list[str]:
    words = _words(value)
    if words == ["native"]:
        return _native_cuda(request, source)
    if words == ["all"]:
        return [f"{number}-real" for number in known] + [f"{known[-1]}-virtual"]
    if words == ["all-major"]:
        major = [n for n in known if n % 10 == 0 or n == known[0]]
        return [f"{number}-real" for number in major] + [f"{major[-1]}-virtual"]
    if not words:
        raise ToolchainError(f"{source}={value!r} names no architecture; unset it for the default")
    return words


def _torch_entries(value: str) -> list[str]:
    entries = []
    for word in _words(value):
        for item in TORCH_NAMES.get(word, word).split(";"):
            match = re.fullmatch(r"(\d+)\.(\d)([af]?)(\+PTX)?", item)
            if match is None:
                raise ToolchainError(
                    f"TORCH_CUDA_ARCH_LIST: {word!r} is neither a number such as 9.0 or 9.0+PTX "
                    f"nor one of {', '.join(TORCH_NAMES)}"
                )
            number = match[1] + match[2] + match[3]
            entries.append(f"{number}-real")
            if match[4]:
                entries.append(f"{number}-virtual")
    return entries


def _cuda_list(entries: Sequence[str], source: str, known: Sequence[int]) -> Architectures:
    names: list[str] = []
    for entry in entries:
        match = re.fullmatch(r"(\d{2,3})([af]?)(-real|-virtual)?", entry)
        if match is None:
            raise ToolchainError(
                f"{source}: {entry!r} is no CUDA architecture such as 90, 90-real or 90-virtual"
            )
        if int(match[1]) not in known:
            raise ToolchainError(
                f"{source}: {entry} is unknown to this nvcc, which compiles for "
                + " ".join(str(number) for number in known)
            )
        number = match[1] + match[2]
        if match[3] != "-virtual":
            names.append(f"sm_{number}")
        if match[3] != "-real":
            names.append(f"compute_{number}")
    return Architectures(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(entries)), source)


def _native_cuda(request: Request, source: str) -> list[str]:
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    result = run(query, environ=request.environ)
    numbers = sorted(set(re.findall(r"^(\d+)\.(\d)\s*$", result.stdout, re.MULTILINE)))
    if result.returncode != 0 or not numbers:
        raise ToolchainError(f"{source}=native needs an NVIDIA GPU here: {first_error(result)}")
    return [f"{major}{minor}-real" for major, minor in numbers]


def _native_hip(request: Request, source: str) -> list[str]:
    result = run(["rocm_agent_enumerator"], environ=request.environ)
    names = [name for name in result.stdout.split() if name not in ("gfx000", "")]
    if result.returncode != 0 or not names:
        raise ToolchainError(f"{source}=native needs an AMD GPU here, and none was found")
    return list(dict.fromkeys(names))
