"""What the hip backend compiles with: clang with AMD's headers, or hiprtc."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import NamedTuple

from gpuport.loading.identity import file_identities, package_identity

VARIABLES = ("HIPCXX", "ROCM_HOME", "ROCM_PATH", "HIP_DEVICE_LIB_PATH", "PATH", "CPATH")
_LIBRARIES = (
    "libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so", "libamdhip64.so.5",
)  # fmt: skip
_MARKS = ("include/hip/hip_version.h", "bin/hipcc", "lib/llvm/bin/clang++")


class Tools(NamedTuple):
    """Either clang with its flags, or the path of hiprtc; `reason` says why there is no clang."""

    clang: str | None
    flags: tuple[str, ...]
    hiprtc: str | None
    reason: str


def find_tools() -> Tools:
    return _find(tuple(os.environ.get(name, "") for name in VARIABLES))


@cache
def _find(environment: tuple[str, ...]) -> Tools:
    from gpuport.toolchain.backend import Request, ToolchainError
    from gpuport.toolchain.hip import find_hip

    try:
        found = find_hip(Request("AUTO"))
    except ToolchainError as error:
        return Tools(None, (), _find_hiprtc(), str(error))
    flags = tuple(found.cmake["GPUPORT_HIP_PATH_FLAGS"].split(";"))
    include = f"-include{found.cmake['GPUPORT_HIP_INCLUDE']}/hip/hip_runtime.h"
    return Tools(found.compiler_path, (*flags, include), None, "")


def _find_hiprtc() -> str | None:
    for name in _LIBRARIES:
        try:
            if hasattr(ctypes.CDLL(name), "hiprtcCompileProgram"):
                return name
        except OSError:
            continue
    return None


def toolchain_identity() -> list[str]:
    """What, beside the source, decides what comes out: cheaper to tell than the search is."""
    variables = [f"{name}={os.environ.get(name, '')}" for name in VARIABLES]
    roots = [os.environ.get("ROCM_HOME", ""), os.environ.get("ROCM_PATH", ""), "/opt/rocm", "/usr"]
    marks = [f"{root}/{mark}" for root in roots if root for mark in _MARKS]
    files = file_identities(os.path.realpath(mark) for mark in marks if os.path.exists(mark))
    return [*variables, *files, *package_identity()]
