"""From a request to a module, for each backend: the compiler, the cache, the device."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from gpuport._backends import ordinals
from gpuport._view import Place
from gpuport.errors import BackendUnavailableError
from gpuport.loading import cache
from gpuport.loading.hashing import blake2b
from gpuport.loading.module import Module
from gpuport.loading.records import ModuleRecord
from gpuport.loading.request import Project, Request, read_project

if TYPE_CHECKING:  # a module from the cache does not wait for it
    from pathlib import Path

Compile: TypeAlias = "Callable[[Request, Project, Path], ModuleRecord]"
Use: TypeAlias = Callable[[ModuleRecord, str], Module]  # with the folder of the entry


def default_backend() -> str:
    """The first that has a device of its own kind here. The CPU always has."""
    marks = {"cuda": "/dev/nvidiactl", "hip": "/dev/kfd"}  # no driver is loaded without a device
    for backend, mark in marks.items():
        if os.path.exists(mark):
            from gpuport.loading.driver import driver

            with suppress(BackendUnavailableError):
                driver(backend)
                return backend
    return "cpu"


def load_cpu(request: Request, device: int, warp_size: int | None) -> Module:
    from gpuport.loading.cpu_code import CpuCode
    from gpuport.loading.cpu_toolchain import toolchain_identity

    if request.archs:
        raise ValueError("archs: the CPU backend compiles for this machine only")
    widths = ordinals("cpu", 0)
    width = min(widths) if warp_size is None else warp_size
    if width not in widths or device != 0:
        has = " and ".join(map(str, sorted(widths)))
        raise ValueError(f"the CPU is device 0 with warps of {has}, not device {device}, {width}")

    def compile_(request: Request, project: Project, folder: Path) -> ModuleRecord:
        from gpuport.loading.cpu import compile_module

        return compile_module(request, project, folder)

    def use(record: ModuleRecord, folder: str) -> Module:
        return Module(record, CpuCode(f"{folder}/{record.files['']}", width))

    return _load(request, toolchain_identity(), compile_, use)


def load_gpu(request: Request, device: int, warp_size: int | None) -> Module:
    from gpuport.loading.archs import check_archs
    from gpuport.loading.driver import driver

    backend, place = request.backend, Place(request.backend, device)
    compile_, identity = _compiler(backend)
    archs = check_archs(backend, request.archs)
    missing: BackendUnavailableError | None = None
    try:
        found = driver(backend)
        native = found.architecture(device)
        if warp_size not in (None, found.warp_size(device)):
            raise ValueError(
                f"warp_size={warp_size}: {place} has warps of {found.warp_size(device)}"
            )
    except BackendUnavailableError as error:
        if not archs:
            raise BackendUnavailableError(f"{error}; to compile only, name archs") from None
        missing = error
    request = request._replace(archs=archs or (native,))

    def use(record: ModuleRecord, folder: str) -> Module:
        if missing is not None:
            from gpuport.loading.compiled_only import CompiledOnly

            return Module(record, CompiledOnly(place, str(missing)))
        from gpuport.loading.gpu_code import GpuCode

        return Module(record, GpuCode(folder, record.files, place))

    return _load(request, identity, compile_, use)


def _compiler(backend: str) -> tuple[Compile, list[str]]:
    """How a GPU backend compiles, and what that depends on."""
    if backend == "hip":
        from gpuport.loading import hip, hip_toolchain

        def compile_hip(request: Request, project: Project, folder: Path) -> ModuleRecord:
            tools = hip_toolchain.find_tools()
            return hip.compile_module(request, project, request.archs, tools, folder)

        return compile_hip, hip_toolchain.toolchain_identity()
    from gpuport.loading import cuda, cuda_toolchain

    tools = cuda_toolchain.find_tools()

    def compile_cuda(request: Request, project: Project, folder: Path) -> ModuleRecord:
        return cuda.compile_module(request, project, request.archs, tools, folder)

    return compile_cuda, cuda_toolchain.toolchain_identity(tools)


def _load(request: Request, toolchain: Sequence[str], compile_: Compile, use: Use) -> Module:
    project = read_project(request)

    def make(folder: Path) -> tuple[dict[str, Any], list[str]]:
        record = compile_(request, project, folder)
        return {"module": record}, list(record.files.values())

    def use_entry(entry: cache.Entry) -> Module:
        return use(ModuleRecord.from_json(entry.record["module"]), entry.folder)

    key = cache_key(request, project, toolchain) if project.is_complete else None
    module = cache.get_or_make(key, make, use_entry)
    assert isinstance(module, Module)
    return module


def cache_key(request: Request, project: Project, toolchain: Sequence[str]) -> str:
    """A name for what the compilation of a request gives."""
    parts = (
        request.backend,
        request.path,
        request.name,
        request.folders,
        request.archs,
        request.expressions,
        request.options.macro_flags(),
        request.options.rest,
        list(toolchain),
        request.text,
        project.digest,
    )
    return blake2b(repr(parts).encode(errors="replace"), digest_size=24).hexdigest()
