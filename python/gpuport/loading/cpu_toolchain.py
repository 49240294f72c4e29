"""What the CPU backend compiles with: the host's compiler, the SIMT machine and its headers."""

from __future__ import annotations

import os

from gpuport._backends import native_module
from gpuport.errors import BackendUnavailableError
from gpuport.loading.identity import file_identities, files_of, package_identity
from gpuport.toolchain.cpu import HostCompiler, find_host_compiler
from gpuport.toolchain.errors import ToolchainError

LIBRARY = "libgpuport_simt.so"
MODULE_FILE = "module.so"
HEADER_FOLDERS = (
    "include/simt", "include/simt/gpuport_simt", "include/simt/cooperative_groups",
    "include/simt/cuda", "include/simt/cuda/std", "include/simt/nvtx3",
)  # fmt: skip
# What makes the same command compile something else.
VARIABLES = ("CPATH", "CPLUS_INCLUDE_PATH")


def runtime_folder() -> str:
    """Where the SIMT machine is installed: beside the native module."""
    return os.path.dirname(native_module("cpu").__file__)


def toolchain_identity() -> list[str]:
    """What, beside the source, decides what comes out."""
    folder = runtime_folder()
    compiler = host_compiler()
    headers = [path for place in HEADER_FOLDERS for path in files_of(f"{folder}/{place}", ("",))]
    variables = [f"{name}={os.environ.get(name, '')}" for name in VARIABLES]
    files = [*compiler.programs, f"{folder}/{LIBRARY}", *headers]
    return [*variables, *compiler.command, *file_identities(files), *package_identity()]


def host_compiler() -> HostCompiler:
    try:
        return find_host_compiler()
    except ToolchainError as error:
        raise BackendUnavailableError(f"backend cpu cannot compile: {error}") from None
