"""Finding compilers and resolving architectures, in one place.

The build runs this package from the source tree before anything is installed
(``PYTHONPATH=python/gpuport python -m toolchain find ...``), so it uses the standard library only
and imports nothing from the rest of gpuport.

What a build found is installed as ``gpuport/_build_info.json``::

    {
      "version": "0.1.0",                 the package's version
      "backends": {
        "cpu" | "cuda" | "hip": {
          "built": true,                  whether the module gpuport._<backend> was built
          "reason": "",                   why it was not built; empty where it was
          "architectures": ["sm_75"],     sm_XX, PTX as compute_XX, gfxNNN or the processor
          "architectures_from": "default",the variable that named them, or "default"
          "compiler": "NVIDIA 13.0.88",   the compiler's name and version
          "compiler_path": "/usr/bin/nvcc",
          "runtime": "CUDA 13.0",         the headers and runtime library that were compiled against
          "flags": "-O2 -lineinfo",       what the kernels were compiled with
          "searched": ["CUDACXX: not set"]  each place that was looked at, in order
        }
      }
    }

All three backends are always present, with all nine keys. An editable install and a wheel carry the
same file; a source tree that was never built has none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .arch import Architectures, cuda_architectures, hip_architectures
    from .backend import Backend, Request, ToolchainError
    from .cpu import HostCompiler, find_host_compiler
    from .cuda import find_cuda
    from .hip import find_hip

# Fetched when they are first used: the loader wants one search and waits for it.
_HOME_OF = {
    "Architectures": "arch",
    "Backend": "backend",
    "HostCompiler": "cpu",
    "Request": "backend",
    "ToolchainError": "backend",
    "cuda_architectures": "arch",
    "find_cuda": "cuda",
    "find_hip": "hip",
    "find_host_compiler": "cpu",
    "hip_architectures": "arch",
}

__all__ = [
    "Architectures",
    "Backend",
    "HostCompiler",
    "Request",
    "ToolchainError",
    "cuda_architectures",
    "find_cuda",
    "find_hip",
    "find_host_compiler",
    "hip_architectures",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
