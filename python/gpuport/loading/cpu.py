"""A shared object for the SIMT machine: translate, compile with the host's compiler, link."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gpuport.errors import CompileError
from gpuport.loading.braces import tells_of_braces
from gpuport.loading.compiling import MOST_ERRORS, run_compiler
from gpuport.loading.cpu_toolchain import LIBRARY, MODULE_FILE, host_compiler, runtime_folder
from gpuport.loading.cuda_options import host_options
from gpuport.loading.entries import Entries, expression_line, find_entries, prelude, wrapped
from gpuport.loading.host_errors import explained
from gpuport.loading.overlay import write_overlay
from gpuport.loading.records import GlobalRecord, KernelRecord, ModuleRecord
from gpuport.loading.reflection import Reflection, global_record
from gpuport.loading.request import Project, Request


@tells_of_braces("cpu")
def compile_module(request: Request, project: Project, folder: Path) -> ModuleRecord:
    """Compile into `folder`.

    Raises:
        TranslationError: the translator found what a host compiler would not understand.
        CompileError: the compiler refused the source; its words, with the original file and line.
    """
    compiler = host_compiler()
    overlay = write_overlay(request, project, "cpu", folder)
    entries = find_entries(overlay.files, request.expressions)
    with overlay.main.open("a", encoding="utf-8") as file:
        file.write("\n".join(["", *_tail(entries), ""]))
    output = folder / MODULE_FILE
    runtime = runtime_folder()
    headers = f"{runtime}/include/simt"
    first = folder / "prelude.h"
    lines = ["#include <gpuport_simt/entry.h>", *prelude(request.options), ""]
    first.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    command = [
        *compiler.command,
        *("-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-plt"),
        MOST_ERRORS,
        *("-D__CUDACC__=1", "-DGP_TARGET_CPU=1", "-DGPUPORT_SIMT_LIBRARY=1"),
        *request.options.early_flags(),
        *overlay.include_flags(),
        *("-isystem", headers, "-include", f"{headers}/cuda_runtime.h", "-include", str(first)),
        *("-x", "c++", str(overlay.main), "-x", "none"),
        *("-o", str(output), f"-L{runtime}", f"-l:{LIBRARY}", "-pthread", "-Wl,-z,defs"),
        *host_options(request.options.rest),
    ]
    try:
        run_compiler(command, request.name, str(overlay.main))
    except CompileError as error:
        raise CompileError(explained(str(error), request.name)) from None
    reflection = Reflection(output.read_bytes())
    return ModuleRecord(
        tuple(_kernel_records(entries, reflection)),
        tuple(_global_records(entries, reflection)),
        " ".join(compiler.command),
        {"": MODULE_FILE},
        overlay.warnings,
    )


def _tail(entries: Entries) -> Iterable[str]:
    yield '#line 1 "<gpuport>"'
    specifiers = '__attribute__((visibility("default")))'
    for entry in entries.kernels:
        yield from expression_line(entry)
        name = entry.name.replace("\\", "\\\\").replace('"', '\\"')
        line = (
            f'GPUPORT_SIMT_ENTRY({entry.number}, "{name}", {entry.expression}) '
            f"GPUPORT_PARAMETERS({entry.number}, {specifiers}, {entry.expression})"
        )
        yield from wrapped(entry.scope, entry.conditions, line)
    for variable in entries.globals:
        found = variable.variable
        line = (
            f"GPUPORT_SIMT_GLOBAL({variable.number}, {found.name}) "
            f"GPUPORT_ELEMENT({variable.number}, {specifiers}, {found.name})"
        )
        yield from wrapped(found.scope, found.conditions, line)


def _kernel_records(entries: Entries, reflection: Reflection) -> Iterable[KernelRecord]:
    for entry in entries.kernels:
        parameters = reflection.parameters(
            f"gpuport_parameters_{entry.number}", entry.parameters, entry.types
        )
        if parameters is not None:
            symbol = f"gpuport_entry_{entry.number}"
            yield KernelRecord(entry.name, symbol, parameters)


def _global_records(entries: Entries, reflection: Reflection) -> Iterable[GlobalRecord]:
    for entry in entries.globals:
        records = reflection.records(f"gpuport_element_{entry.number}")
        if records:
            yield global_record(entry.variable.qualified, f"gpuport_global_{entry.number}", records)
