"""`gpuport.load`: a user's own CUDA source, compiled now and launched from Python."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence

from gpuport._backends import NAMES
from gpuport.errors import PortabilityWarning
from gpuport.loading.backends import default_backend, load_cpu, load_gpu
from gpuport.loading.module import Kernel, Module, Overloads
from gpuport.loading.request import make_request

__all__ = ["Kernel", "Module", "Overloads", "load"]


def load(
    source: str | os.PathLike[str],
    *,
    backend: str | None = None,
    headers: Mapping[str, str] | None = None,
    defines: Mapping[str, object] | None = None,
    options: Iterable[str] | None = (),
    include_dirs: Sequence[str | os.PathLike[str]] | None = (),
    archs: Iterable[str] | None = (),
    name_expressions: Iterable[str] | None = (),
    device: int = 0,
    warp_size: int | None = None,
) -> Module:
    """Compile a CUDA source, or fetch it from the cache, and give its kernels.

    Args:
        source: CUDA C++. A `str` that holds a newline is source text, anything else names a file.
        backend: "cpu", "cuda" or "hip"; one that cannot be used is an error, never another.
            Default: that of a GPU which is here, else "cpu".
        headers: texts of headers by the names that they are included by.
        defines: macros; a value of None defines an empty one.
        options: for the backend's compiler. CUDA's own mean the same on the other backends, or
            nothing.
        include_dirs: folders of headers. The folder of the source is one by itself.
        archs: architectures to compile for, as "sm_90", "compute_90" (PTX) or "gfx90a". Default:
            the device's. With `archs` no device is needed: the module then has its kernels' names
            and signatures, and a launch raises BackendUnavailableError.
        name_expressions: instantiations of templates to compile, as "scale<float, 4>".
        device: the ordinal of the device.
        warp_size: 32 or 64 on the CPU (default 32); on a GPU only what the device has.

    Warns:
        PortabilityWarning: `#if __CUDA_ARCH__ >= ...` on "cpu" or "hip", where it is not defined;
            names each file and line, once a load.

    Raises:
        CompileError: the compiler refused the source; its words, with the original file and line.
        TranslationError: the source holds what the backend has no counterpart of.
        BackendUnavailableError: there is no compiler, or no device.
        UnsupportedArchError: `archs` holds no code that the device runs.
        OSError: the file cannot be read.
        TypeError: an argument of another type than these; names the parameter.
        ValueError: no such backend or architecture, a folder of `include_dirs` is not there, the
            file is no text, or an option does not end with a module, as -E.
    """
    if backend is None:
        backend = default_backend()
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
    load_it = load_cpu if backend == "cpu" else load_gpu
    module = load_it(request, device, warp_size)
    if module.warnings:
        warnings.warn("\n".join(module.warnings), PortabilityWarning, stacklevel=2)
    return module
