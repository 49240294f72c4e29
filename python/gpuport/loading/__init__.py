"""`gpuport.load`: a user's own CUDA source, compiled now and launched from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuport._backends import NAMES, ordinals
from gpuport.loading import cache
from gpuport.loading.hashing import blake2b
from gpuport.loading.module import Kernel, Module, Overloads
from gpuport.loading.records import ModuleRecord
from gpuport.loading.request import Project, Request, make_request, read_project

__all__ = ["Kernel", "Module", "Overloads", "load"]


def load(
    source: str | os.PathLike[str],
    *,
    backend: str = "cpu",
    headers: Mapping[str, str] | None = None,
    defines: Mapping[str, object] | None = None,
    options: Iterable[str] = (),
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    archs: Iterable[str] = (),
    name_expressions: Iterable[str] = (),
    device: int = 0,
    warp_size: int | None = None,
) -> Module:
    """Compile a CUDA source, or fetch it from the cache, and give its kernels.

    Args:
        source: CUDA C++. A `str` that holds a newline is source text, anything else names a file.
        backend: "cpu", "cuda" or "hip". A backend that cannot be used is an error, never another.
        headers: texts of headers by the names that they are included by.
        defines: macros; a value of None defines an empty one.
        options: for the backend's compiler. CUDA's own mean the same on the other backends, or
            nothing.
        include_dirs: folders of headers. The folder of the source is one by itself.
        archs: architectures to compile for, as "sm_90" or "gfx90a". Default: that of the device.
        name_expressions: instantiations of templates to compile, as "scale<float, 4>".
        device: the ordinal of the device.
        warp_size: 32 or 64 on the CPU (default 32); on a GPU only what the device has.

    Raises:
        CompileError: the compiler refused the source; its words, with the original file and line.
        TranslationError: the source holds what the backend has no counterpart of.
        BackendUnavailableError: there is no compiler, or (when a kernel is launched) no device.
        OSError: the file cannot be read.
    """
    if backend not in NAMES:
        raise ValueError(f"there is no backend {backend!r}; there are {', '.join(NAMES)}")
    request = make_request(
        source,
        backend=backend,
        headers=headers,
        defines=defines,
        options=options,
        include_dirs=include_dirs,
        archs=archs,
        name_expressions=name_expressions,
    )
    return _load_cpu(request, device, warp_size)


def _load_cpu(request: Request, device: int, warp_size: int | None) -> Module:
    from gpuport.loading.cpu_code import CpuCode
    from gpuport.loading.cpu_toolchain import MODULE_FILE, toolchain_identity

    if request.archs:
        raise ValueError("archs: the CPU backend compiles for this machine only")
    widths = ordinals("cpu", 0)
    width = min(widths) if warp_size is None else warp_size
    if width not in widths or device != 0:
        has = " and ".join(map(str, sorted(widths)))
        raise ValueError(
            f"the CPU is device 0 and has warps of {has}, not device {device}, {width}"
        )
    project = read_project(request)

    def make(folder: Path) -> tuple[dict[str, Any], list[str]]:
        from gpuport.loading.cpu import compile_module

        record = compile_module(request, project, folder)
        return {"module": record}, [MODULE_FILE]

    def use(entry: cache.Entry) -> Module:
        record = ModuleRecord.from_json(entry.record["module"])
        return Module(record, CpuCode(entry.folder / record.files[""], width))

    key = cache_key(request, project, toolchain_identity()) if project.is_complete else None
    module = cache.get_or_make(key, make, use)
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
