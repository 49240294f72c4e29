"""Cubins and PTX: by NVRTC, which needs no toolkit, or by nvcc where that does not do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpuport.errors import CompileError
from gpuport.loading import rtc
from gpuport.loading.braces import tells_of_braces
from gpuport.loading.compiling import MOST_ERRORS, errors_of, run_compiler
from gpuport.loading.cuda_toolchain import Tools
from gpuport.loading.entries import Entries, device_tail, find_entries, name_expressions, prelude
from gpuport.loading.records import ModuleRecord
from gpuport.loading.reflection import PtxReflection, Reflection, device_records
from gpuport.loading.request import VIRTUAL, Project, Request
from gpuport.loading.sources import live_files

_STANDARD = re.compile(r"--?std[= ]")
# Headers that nvcc's users include and NVRTC has built in, or has no use for.
_BUILT_IN = (
    "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "cuda.h", "assert.h",
    "math.h", "stdio.h", "stdlib.h", "string.h", "cassert", "cmath", "cstdio", "cstdlib", "cstring",
)  # fmt: skip
_LIMITS = """
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ull
#define CHAR_BIT 8
"""
_FLOATS = """
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""


def standard_headers() -> dict[str, bytes]:
    """Headers of C and C++ that a kernel file includes by habit, as far as a kernel needs them."""
    guard = "#pragma once\n"
    integers = guard + "".join(
        f"typedef {sign} {plain} {prefix}int{bits}_t;\n"
        for bits, plain in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
        for sign, prefix in (("signed", ""), ("unsigned", "u"))
    )
    texts = dict.fromkeys(_BUILT_IN, guard)
    texts.update({"stdint.h": integers, "cstdint": integers})
    texts.update({"limits.h": guard + _LIMITS, "climits": guard + _LIMITS})
    texts.update({"float.h": guard + _FLOATS, "cfloat": guard + _FLOATS})
    texts.update({"stddef.h": guard, "cstddef": guard})
    return {name: text.encode() for name, text in texts.items()}


@tells_of_braces("cuda")
def compile_module(
    request: Request, project: Project, archs: Sequence[str], tools: Tools, folder: Path
) -> ModuleRecord:
    """Compile for each architecture, side by side, into `folder`.

    Raises:
        CompileError: the compiler refused the source; its words, with the original file and line.
    """
    entries = find_entries(live_files(request, project, "cuda"), request.expressions)
    tail = "\n".join(["", *device_tail(entries), ""]).encode()
    files: dict[str, str] = {}
    names: dict[str, str] = {}
    compilers: list[str] = []
    with ThreadPoolExecutor(max_workers=min(len(archs), os.cpu_count() or 1)) as pool:
        jobs = {
            arch: pool.submit(_compile_one, request, project, entries, tail, arch, tools, folder)
            for arch in archs
        }
    for arch, job in jobs.items():
        code, symbols, compiler = job.result()
        files[arch] = f"{arch}.{'ptx' if arch.startswith('compute') else 'cubin'}"
        (folder / files[arch]).write_bytes(code)
        names.update(symbols)
        compilers.append(compiler)
    first = (folder / files[archs[0]]).read_bytes()
    is_elf = first.startswith(b"\x7fELF")
    reflection = Reflection(first) if is_elf else PtxReflection(first.decode(errors="replace"))
    kernels, variables = device_records(entries, reflection, names)
    return ModuleRecord(kernels, variables, compilers[0], files)


def _compile_one(
    request: Request,
    project: Project,
    entries: Entries,
    tail: bytes,
    arch: str,
    tools: Tools,
    folder: Path,
) -> tuple[bytes, Mapping[str, str], str]:
    """The code, its symbols by name expression, and what compiled it."""
    refusal = None
    if tools.nvrtc is not None:
        try:
            version = "NVRTC {}.{}".format(*rtc.version(tools.nvrtc, rtc.NVRTC))
            compiled = _with_nvrtc(request, project, entries, tail, arch, tools)
            return (
                compiled.code,
                compiled.symbols,
                version,
            )
        except rtc.RtcError as error:
            refusal = error
    if tools.nvcc is None:
        raise CompileError(errors_of(str(refusal)))
    return _with_nvcc(request, tail, arch, tools.nvcc, folder), {}, "nvcc"


def _with_nvrtc(
    request: Request, project: Project, entries: Entries, tail: bytes, arch: str, tools: Tools
) -> rtc.Compiled:
    assert tools.nvrtc is not None
    rest = request.options.rest
    folders = [os.path.dirname(request.path), *request.folders[1:]]
    folders += [os.path.dirname(path) for path in project.files if not path.startswith(VIRTUAL)]
    options = [
        f"--gpu-architecture={arch}",
        *([] if any(map(_STANDARD.match, rest)) else ["--std=c++20"]),
        *request.options.early_flags(),
        *(f"--include-path={path}" for path in dict.fromkeys(folders) if os.path.isdir(path)),
        *([f"--include-path={tools.headers}"] if tools.headers else []),
        *rest,
    ]
    return rtc.compile_program(
        tools.nvrtc,
        rtc.NVRTC,
        _framed(request, tail),
        request.name,
        {**standard_headers(), **request.headers},
        options,
        name_expressions(entries),
        code="PTX" if arch.startswith("compute") else "CUBIN",
    )


def _framed(request: Request, tail: bytes) -> bytes:
    """The source with what stands in front of it and behind it; messages name the original."""
    name = request.name.replace("\\", "\\\\").replace('"', '\\"')
    lines = "\n".join([*prelude(request.options), f'#line 1 "{name}"', ""])
    text = request.text.removeprefix(b"\xef\xbb\xbf")
    return lines.encode(errors="surrogateescape") + text + tail


def _with_nvcc(request: Request, tail: bytes, arch: str, nvcc: str, folder: Path) -> bytes:
    work = folder / f"nvcc-{arch}"
    headers = work / "headers"
    for name, text in request.headers.items():
        place = headers / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)
    work.mkdir(exist_ok=True)
    source = work / "source.cu"
    source.write_bytes(_framed(request, tail))
    output = work / "output"
    is_ptx = arch.startswith("compute")
    rest = request.options.rest
    command = [
        *(nvcc, "-ptx" if is_ptx else "-cubin", f"-arch={arch}", "--expt-relaxed-constexpr"),
        f"-Xcompiler={MOST_ERRORS}",
        *([] if any(map(_STANDARD.match, rest)) else ["-std=c++20"]),
        *request.options.early_flags(),
        *(f"-I{path}" for path in (headers, os.path.dirname(request.path), *request.folders[1:])),
        *(*rest, str(source), "-o", str(output)),
    ]
    run_compiler(command, request.name, str(source))
    return output.read_bytes()
