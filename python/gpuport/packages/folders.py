"""The installed files that the builds of other packages use."""

from __future__ import annotations

import sys
from pathlib import Path

import gpuport
from gpuport.errors import Error

__all__ = ["cmake_dir", "include_dir", "show_folder"]


def cmake_dir() -> str:
    """The folder of gpuportConfig.cmake, for CMake's gpuport_ROOT. Error where it is not built."""
    return str(_installed("cmake/gpuportConfig.cmake").parent)


def include_dir() -> str:
    """The include folder of <gpuport/gpuport.cuh>. Error where it is not built."""
    return str(_installed("include/cuda/gpuport/gpuport.cuh").parents[1])


def _installed(name: str) -> Path:
    for folder in gpuport.__path__:  # an editable install has two
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    raise Error(f"{name} is not here: this is a source tree that was never built and installed")


def show_folder(option: str) -> int:
    """Print what `--cmake-dir` or `--include-dir` asks for; the exit code, 2 if it is not here."""
    try:
        print(cmake_dir() if option == "--cmake-dir" else include_dir())
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
