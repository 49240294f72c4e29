"""What the cuda backend compiles with: NVRTC, CUDA's headers, nvcc; each where it can be found.

The environment comes first: `CUDA_HOME` or `CUDA_PATH`. Then what the process has loaded already
(PyTorch and CuPy bring NVRTC), NVIDIA's packages from PyPI, nvcc's toolkit, and the usual place.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gpuport.errors import BackendUnavailableError
from gpuport.loading.driver import driver
from gpuport.loading.identity import file_identities, package_identity
from gpuport.toolchain.cpu import which

_SONAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2")
_USUAL = "/usr/local/cuda"
VARIABLES = ("CPATH", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CUDAHOSTCXX")


def _roots() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable, ""):
            yield Path(root)
    for folder in dict.fromkeys(sys.path):
        package = Path(folder or ".") / "nvidia"
        if package.is_dir():
            yield from sorted(package.glob("cu[0-9]*"), reverse=True)
            yield from (package / "cuda_nvrtc", package / "cuda_runtime")
    if nvcc := find_nvcc():
        yield Path(nvcc).resolve().parents[1]
    yield Path(_USUAL)


def find_nvcc() -> str | None:
    """`CUDACXX`, the nvcc of `CUDA_HOME` or `CUDA_PATH`, that on PATH or at the usual place."""
    path = os.environ.get("PATH", os.defpath)
    if named := os.environ.get("CUDACXX", ""):
        return which(named, path)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable, ""):
            return which(f"{root}/bin/nvcc", path)
    return which("nvcc", path) or which(f"{_USUAL}/bin/nvcc", path)


@cache
def _nvrtc(driver_major: int, environment: tuple[str, ...]) -> str | None:
    folders = [folder for root in _roots() for folder in (root / "lib64", root / "lib")]
    for soname in _SONAMES:
        number = re.search(r"so\.(\d+)", soname)
        assert number is not None
        if driver_major and int(number[1]) > driver_major:
            continue  # the driver would not load what it compiles
        for folder in folders:
            if (folder / soname).exists():
                return str(folder / soname)
        try:
            ctypes.CDLL(soname)
        except OSError:
            continue
        return soname
    return None


def find_nvrtc(driver_major: int = 0) -> str | None:
    """The newest NVRTC that is not newer than the driver; any where there is no driver."""
    variables = ("CUDA_HOME", "CUDA_PATH", "CUDACXX", "PATH")
    return _nvrtc(driver_major, tuple(os.environ.get(name, "") for name in variables))


def find_headers() -> str | None:
    """A folder that holds `cuda_fp16.h` and its kin. NVRTC needs none for what is built in."""
    for root in _roots():
        if (root / "include" / "cuda_fp16.h").is_file():
            return str(root / "include")
    return None


class Tools(NamedTuple):
    """What there is to compile with; paths, or None."""

    nvrtc: str | None
    nvcc: str | None
    headers: str | None


def find_tools() -> Tools:
    """NVRTC of the driver's version or older, nvcc, and the headers.

    Raises:
        BackendUnavailableError: there is neither NVRTC nor nvcc.
    """
    major = 0
    with suppress(BackendUnavailableError):
        major = driver("cuda").version()[0]
    tools = Tools(find_nvrtc(major), find_nvcc(), find_headers())
    if tools.nvrtc is None and tools.nvcc is None:
        raise BackendUnavailableError(
            "backend cuda cannot compile: neither NVRTC nor nvcc was found (looked at CUDA_HOME, "
            "CUDA_PATH, NVIDIA's packages, PATH and /usr/local/cuda); `pip install "
            "nvidia-cuda-nvrtc` brings one"
        )
    return tools


def toolchain_identity(tools: Tools) -> list[str]:
    """What, beside the source, decides what comes out."""
    variables = [f"{name}={os.environ.get(name, '')}" for name in VARIABLES]
    paths = [tools.nvrtc, tools.nvcc, tools.headers and f"{tools.headers}/cuda_fp16.h"]
    files = [os.path.realpath(path) for path in paths if path and os.path.exists(path)]
    return [*map(str, tools), *variables, *file_identities(files), *package_identity()]
