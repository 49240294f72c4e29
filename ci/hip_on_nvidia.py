"""Builds the hipified sources for NVIDIA, through the NVIDIA platform of the HIP headers.

The port itself then runs on an NVIDIA GPU, not only the CUDA sources that it was made from: the
module that comes out is the ``hip`` translation of ``kernels/cuda``, compiled by nvcc, in the place
of ``gpuport._cuda`` in a copy of the installed package.

    python ci/hip_on_nvidia.py --headers /usr/include --out DIR [--arch sm_90] [--host-only]
    PYTHONPATH=DIR python -m gpuport check --backend cuda

The NVIDIA half of older HIP headers wraps runtime calls that newer CUDA releases dropped. They are
made to compile in a copy: what the compiler rejects is cut out, one declaration or statement at a
time, and listed. `--host-only` compiles the runtime calls, and neither kernels nor bindings.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "kernels" / "cuda"
PLATFORM = ["-D__HIP_PLATFORM_NVIDIA__=1", "-D__HIP_PLATFORM_NVCC__=1", "-DGP_TARGET_CUDA=1"]
ERROR = re.compile(r"^(?P<file>[^\s(:][^(:]*)[(:](?P<line>\d+)[):].*\berror\b", re.MULTILINE)

# HIP 5 has the first call for files that nvcc compiles as CUDA only; runtime.cpp is plain C++. The
# others it does not have.
LACKING = """#ifndef __CUDACC__
inline static hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return hipCUDAErrorTohipError(cudaStreamIsCapturing(stream, status));
}
#endif
inline static hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return hipCUDAErrorTohipError(cudaThreadExchangeStreamCaptureMode(mode));
}
inline static hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                                 unsigned long long* id, cudaGraph_t* graph) {
  return hipCUDAErrorTohipError(cudaStreamGetCaptureInfo(stream, status, id, graph));
}
struct hipUserObject;
inline static cudaUserObject_t to_cuda(hipUserObject* object) {
  return reinterpret_cast<cudaUserObject_t>(object);
}
inline static hipError_t hipUserObjectCreate(hipUserObject** object, void* memory,
                                             cudaHostFn_t destroy, unsigned count, unsigned flags) {
  auto* const made = reinterpret_cast<cudaUserObject_t*>(object);
  return hipCUDAErrorTohipError(cudaUserObjectCreate(made, memory, destroy, count, flags));
}
inline static hipError_t hipUserObjectRelease(hipUserObject* object, unsigned count) {
  return hipCUDAErrorTohipError(cudaUserObjectRelease(to_cuda(object), count));
}
inline static hipError_t hipGraphRetainUserObject(cudaGraph_t graph, hipUserObject* object,
                                                  unsigned count, unsigned flags) {
  const cudaError_t status = cudaGraphRetainUserObject(graph, to_cuda(object), count, flags);
  return hipCUDAErrorTohipError(status);
}
"""
# What stands there in the sources is CUDA's own, here as well: GP_TARGET_CUDA is what is compiled.
CUDA_BRANCH = re.compile(r"#if defined\(GP_TARGET_CUDA\)\n.*?#(else|elif|endif)", re.DOTALL)


def run(command: Iterable[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )


def must(command: Iterable[str | Path], **environment: str) -> None:
    done = run(command, **environment)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}")


def cut(lines: list[str], number: int) -> str:
    """Blanks what holds the rejected line: a statement of a long function, else a declaration."""
    index = number - 1
    if re.match(r"\s+([\w>-]+ = [^;]*;|case \w+:)\s*(//.*)?$", lines[index]):
        text, lines[index] = lines[index].strip(), ""
        # A case label goes with the statements up to the next label.
        while text.startswith("case") and not re.match(r"\s*(case |default:|\})", lines[index + 1]):
            index += 1
            lines[index] = ""
        return text
    first = index
    while first > 0 and not re.match(r"(inline|static|template|typedef|extern|__)", lines[first]):
        first -= 1
    if first > 0 and lines[first - 1].startswith("template"):
        first -= 1
    last = index
    is_one_line = lines[first].rstrip().endswith(";")
    while not is_one_line and not lines[last].startswith("}"):
        last += 1
    text = " ".join(line.strip() for line in lines[first : last + 1]).split("{")[0].strip()
    for i in range(first, last + 1):
        lines[i] = ""
    return text


def overlay(headers: Path, target: Path) -> None:
    shutil.copytree(headers / "hip", target / "hip", dirs_exist_ok=True)
    runtime = target / "hip" / "nvidia_detail" / "nvidia_hip_runtime_api.h"
    text = runtime.read_text()
    place = text.index("inline static hipError_t hipStreamSynchronize")
    runtime.write_text(text[:place] + LACKING + text[place:])
    probe = target / "probe.cu"
    probe.write_text("#include <hip/hip_runtime.h>\n")
    for _ in range(20):
        flags = [*PLATFORM, f"-I{target}", "-Xcudafe", "--error_limit=1000"]
        done = run(["nvcc", "-std=c++20", *flags, "-c", probe, "-o", os.devnull])
        if done.returncode == 0:
            return
        rejected: dict[Path, set[int]] = {}
        for match in ERROR.finditer(done.stdout + done.stderr):
            rejected.setdefault(Path(match["file"]), set()).add(int(match["line"]))
        if not rejected:
            sys.exit(done.stdout + done.stderr)
        for file, numbers in rejected.items():
            if target not in file.resolve().parents:
                sys.exit(f"{file} is not one of the copied headers\n{done.stderr}")
            lines = file.read_text().splitlines()
            for number in sorted(numbers, reverse=True):
                if lines[number - 1]:
                    print(f"cut {file.name}:{number}: {cut(lines, number)[:100]}")
            file.write_text("\n".join(lines) + "\n")
    sys.exit("the headers still do not compile after 20 rounds")


def translate(target: Path) -> list[Path]:
    endings = {".cu", ".cuh", ".cpp", ".hpp", ".def"}
    for source in sorted(p for p in KERNELS.rglob("*") if p.suffix in endings):
        output = target / source.relative_to(KERNELS)
        output.parent.mkdir(parents=True, exist_ok=True)
        must(
            [sys.executable, "-m", "translate", "--target", "hip", source, "--output", output],
            PYTHONPATH=str(ROOT / "python" / "gpuport"),
        )
        text = CUDA_BRANCH.sub("", re.sub(r"//.*", "", output.read_text()))
        leftover = re.search(r"\bcuda[A-Z]\w+", text)
        if leftover:
            sys.exit(f"{output}: {leftover[0]} was not translated")
    registry = (KERNELS / "registry.def").read_text()
    registered = re.findall(r"^GP_ENTRY\((\w+), (\w+)", registry, re.MULTILINE)
    kernels = [target / family / f"{variant}.cu" for family, variant in registered]
    return [*kernels, *sorted((target / "util").glob("*.cu")), *sorted(target.rglob("*.cpp"))]


def is_binding(source: Path) -> bool:
    """For the host compiler alone."""
    return "nanobind" in source.read_text()


def build(sources: list[Path], include: Path, tree: Path, package: Path | None, arch: str) -> None:
    """Compiles the sources, and links them into the package, where there is one."""
    import nanobind  # type: ignore[import-untyped]

    facts = {
        "kBackend": "cuda",
        "kArchitectures": arch,
        "kCompiler": "nvcc, of hipified sources",
        "kRuntime": "HIP on CUDA",
        "kFlags": "-O2",
    }
    members = "".join(f'inline constexpr const char* {k} = "{v}";\n' for k, v in facts.items())
    header = f"#pragma once\nnamespace gp::build {{\n{members}}}\n"
    (tree / "gpuport_build.hpp").write_text(header)
    bind = Path(nanobind.include_dir())
    python = sysconfig.get_path("include")
    folders = [tree, include, bind, bind.parent / "ext" / "robin_map" / "include", python]
    flags = ["-std=c++20", "-O2", *PLATFORM, *(f"-I{folder}" for folder in folders)]
    flags += ["-DGPUPORT_MODULE_NAME=_cuda", "--expt-relaxed-constexpr"]
    flags += ["-Xcompiler", "-fPIC,-fvisibility=hidden,-fno-strict-aliasing"]

    def compile_one(source: Path) -> Path:
        output = source.with_name(source.name + ".o")
        # Graphs are in these headers for CUDA files only.
        language = [] if is_binding(source) else ["-x", "cu", f"-arch={arch}"]
        must(["nvcc", *language, *flags, "-c", source, "-o", output])
        return output

    if package is not None:  # one file that includes all of nanobind's own
        sources = [*sources, tree / "nanobind.cpp"]
        sources[-1].write_text(f'#include "{bind.parent / "src" / "nb_combined.cpp"}"\n')
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    if package is None:
        return
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    must(["nvcc", "-shared", "-o", package / f"_cuda{suffix}", *objects, "-cudart", "static"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--headers", type=Path, required=True, help="the folder that holds hip/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--host-only", action="store_true")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    include, tree, package = out / "include", out / "source", out / "gpuport"
    overlay(options.headers, include)
    sources = translate(tree)
    if options.host_only:
        host = [s for s in sources if s.suffix == ".cpp" and not is_binding(s)]
        build(host, include, tree, None, options.arch)
        return
    import gpuport

    # Without the module that it replaces: were this one not to be built, that would be what runs.
    ignored = shutil.ignore_patterns("_cuda.*")
    shutil.copytree(Path(gpuport.__file__).parent, package, dirs_exist_ok=True, ignore=ignored)
    build(sources, include, tree, package, options.arch)
    print(f"PYTHONPATH={out} python -m gpuport check --backend cuda")


if __name__ == "__main__":
    main()
