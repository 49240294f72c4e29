"""Code objects for AMD: hipify, then clang, or hiprtc where there is no clang."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpuport.errors import BackendUnavailableError, CompileError
from gpuport.loading import rtc
from gpuport.loading.braces import tells_of_braces
from gpuport.loading.compiling import errors_of, run_compiler
from gpuport.loading.cuda_options import host_options
from gpuport.loading.entries import Entries, device_tail, find_entries, name_expressions, prelude
from gpuport.loading.hip_toolchain import Tools
from gpuport.loading.host_errors import explained_hip
from gpuport.loading.overlay import Overlay, write_overlay
from gpuport.loading.records import ModuleRecord
from gpuport.loading.reflection import Reflection, device_records
from gpuport.loading.request import Project, Request

# gpuport_hip.h, and headers of HIP that older versions lack.
COMPAT = Path(__file__).parent.parent / "include" / "hip"


@tells_of_braces("hip")
def compile_module(
    request: Request, project: Project, archs: Sequence[str], tools: Tools, folder: Path
) -> ModuleRecord:
    """Compile for each architecture, side by side, into `folder`.

    Raises:
        TranslationError: HIP has no counterpart of something in the source.
        CompileError: the compiler refused it; its words, with the original file and line.
    """
    if tools.clang is None and tools.hiprtc is None:
        raise BackendUnavailableError(f"backend hip cannot compile: {tools.reason}")
    overlay = write_overlay(request, project, "hip", folder)
    entries = find_entries(overlay.files, request.expressions)
    lines = ["#include <hip/hip_runtime.h>", *prelude(request.options), ""]
    front = "\n".join(lines).encode(errors="surrogateescape")
    text = overlay.main.read_bytes().removeprefix(b"\xef\xbb\xbf")
    tail = "\n".join(["", *device_tail(entries), ""]).encode()
    overlay.main.write_bytes(front + text + tail)
    files = {arch: f"{arch.replace(':', '_')}.hsaco" for arch in archs}
    with ThreadPoolExecutor(max_workers=min(len(archs), os.cpu_count() or 1)) as pool:
        jobs = [
            pool.submit(_compile_one, request, overlay, entries, arch, tools, folder / files[arch])
            for arch in archs
        ]
    names = {}
    for job in jobs:
        names.update(job.result())
    reflection = Reflection((folder / files[archs[0]]).read_bytes())
    kernels, variables = device_records(entries, reflection, names)
    return ModuleRecord(kernels, variables, tools.clang or "hiprtc", files, overlay.warnings)


def _compile_one(
    request: Request, overlay: Overlay, entries: Entries, arch: str, tools: Tools, output: Path
) -> dict[str, str]:
    flags = [
        *(f"--offload-arch={arch}", "-std=c++20", "-O3", "-DGP_TARGET_AMD=1"),
        *request.options.early_flags(),
        *overlay.include_flags(),
        *("-idirafter", str(COMPAT)),
        *host_options(request.options.rest),
    ]
    if tools.clang is not None:
        command = [
            tools.clang,
            "-x",
            "hip",
            "--cuda-device-only",
            "--no-gpu-bundle-output",
            *tools.flags,
            f"-include{COMPAT}/gpuport_hip.h",
            *flags,
        ]
        command += [str(overlay.main), "-o", str(output)]
        try:
            run_compiler(command, request.name, str(overlay.main))
        except CompileError as error:
            raise CompileError(explained_hip(str(error))) from None
        return {}
    assert tools.hiprtc is not None
    try:
        compiled = rtc.compile_program(
            tools.hiprtc,
            rtc.HIPRTC,
            b'#include "gpuport_hip.h"\n' + overlay.main.read_bytes(),
            request.name,
            {},
            flags,
            name_expressions(entries),
            code="Code",
        )
    except rtc.RtcError as error:
        raise CompileError(explained_hip(errors_of(str(error)))) from None
    output.write_bytes(compiled.code)
    return compiled.symbols
