"""NVIDIA code against what ptxas, cuobjdump and nvdisasm say about it."""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from inspect_inputs import cubin_of, gencode, nvcc, program, run

from gpuport.inspection import KernelResources, inspect

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
NAMES = {
    "_Z5plainPi": "plain(int*)",
    "_Z4tileIfEvPT_": "void tile<float>(float*)",
    "_Z4tileIdEvPT_": "void tile<double>(double*)",
    "_Z6framedPii": "framed(int*, int)",
    "_Z7spilledPfi": "spilled(float*, int)",
}


def by_symbol(path: Path) -> dict[str, KernelResources]:
    found = inspect(path)
    symbols = [kernel.symbol for kernel in found]
    assert len(symbols) == len(set(symbols))
    return {kernel.symbol: kernel for kernel in found}


def nvidia_tool(name: str) -> str:
    """On PATH, or from the PyPI packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm."""
    site = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    packaged = next(site.glob(f"*/bin/{name}"), None)
    return shutil.which(name) or (str(packaged) if packaged else program(name))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_same_as_ptxas_reports(arch: str) -> None:
    cubin, report = cubin_of(arch)
    kernels = by_symbol(cubin)
    assert {kernel.symbol: kernel.name for kernel in kernels.values()} == NAMES
    blocks = re.split(r"Compiling entry function '(\w+)'", report)[1:]
    assert len(blocks) == 2 * len(NAMES)
    version = re.findall(r"V([\d.]+)", run(program("nvcc"), "--version"))[0]
    assert inspect(cubin).compilers == {arch: f"ptxas {version}"}
    for symbol, text in zip(blocks[::2], blocks[1::2], strict=True):
        shared = re.search(r"(\d+) bytes smem", text)
        kernel = kernels[symbol]
        assert kernel.spills is not None
        assert (
            kernel.registers,
            kernel.shared,
            kernel.stack,
            kernel.spills * 4,
        ) == (
            int(re.findall(r"Used (\d+) registers", text)[0]),
            int(shared[1]) if shared else 0,
            int(re.findall(r"(\d+) bytes stack frame", text)[0]),
            int(re.findall(r"(\d+) bytes spill stores", text)[0]),
        )
        assert kernel.architecture == arch
        assert kernel.wavefront == 32
        assert (kernel.agprs, kernel.sgprs, kernel.sgpr_spills) == (None, None, None)


def test_known_facts(cubin: Path) -> None:
    kernels = by_symbol(cubin)
    assert kernels["_Z4tileIfEvPT_"].shared == 1024
    assert kernels["_Z4tileIdEvPT_"].shared == 2048
    plain = kernels["_Z5plainPi"]
    assert (plain.shared, plain.stack, plain.spills, plain.local_accesses) == (0, 0, 0, 0)
    framed = kernels["_Z6framedPii"]
    assert framed.stack == 256
    assert framed.spills == 0, "a local array is no spill"
    assert framed.local_accesses
    spilled = kernels["_Z7spilledPfi"]
    assert spilled.registers == 32, "1024 threads, two blocks, 65536 registers"
    assert spilled.spills
    assert spilled.stack > 0


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_same_as_cuobjdump(arch: str) -> None:
    cubin, _ = cubin_of(arch)
    text = run(nvidia_tool("cuobjdump"), "-res-usage", cubin)
    pattern = r"Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)"
    expected = {
        symbol: (int(registers), int(stack), int(shared))
        for symbol, registers, stack, shared in re.findall(pattern, text)
    }
    # cuobjdump adds what the system reserves for itself in each block that has shared memory.
    reserved = 1024 if arch == "sm_90" else 0
    assert expected == {
        kernel.symbol: (
            kernel.registers,
            kernel.stack,
            kernel.shared + (reserved if kernel.shared else 0),
        )
        for kernel in inspect(cubin)
    }


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_local_accesses_are_those_that_nvdisasm_shows(arch: str) -> None:
    cubin, _ = cubin_of(arch)
    expected: Counter[str] = Counter()
    symbol = ""
    for line in run(nvidia_tool("nvdisasm"), "-c", cubin).splitlines():
        if label := re.match(r"\.text\.(\w+):", line.strip()):
            symbol = label[1]
        expected[symbol] += bool(re.search(r"\*/\s+(@!?U?P\d+ )?(LDL|STL)\b", line))
    assert sum(expected.values()) > 0
    assert {k.symbol: k.local_accesses for k in inspect(cubin)} == {s: expected[s] for s in NAMES}


def test_library_with_several_architectures(cuda_library: Path) -> None:
    found = inspect(cuda_library)
    assert found.architectures == ["sm_80", "sm_90"]
    assert found.ptx == ["compute_90"]
    assert [(module.name, module.host) for module in found.modules] == [
        (str(cuda_library), "x86-64")
    ]
    assert {(k.name, k.architecture) for k in found} == {
        (name, arch) for name in NAMES.values() for arch in ("sm_80", "sm_90")
    }


def test_program_with_ptx_alone(tmp_path: Path) -> None:
    path = nvcc(tmp_path / "program", "-DWITH_MAIN", *gencode("90:compute_90"))
    found = inspect(path)
    assert (found.architectures, found.ptx, list(found)) == ([], ["compute_90"], [])


@pytest.mark.parametrize("mode", ["none", "speed", "balance", "size"])
def test_compressed_fat_binaries(mode: str, cubin: Path, tmp_path: Path) -> None:
    options = ["-fatbin", f"--compress-mode={mode}", *gencode("90:sm_90,compute_90")]
    fatbin = nvcc(tmp_path / "kernels.fatbin", *options)
    assert by_symbol(fatbin).keys() == by_symbol(cubin).keys()
    for symbol, kernel in by_symbol(fatbin).items():
        assert kernel.registers == by_symbol(cubin)[symbol].registers
    assert inspect(fatbin).ptx == ["compute_90"]


@pytest.mark.parametrize(
    ("virtual", "real"), [("90a", "sm_90a"), ("100a", "sm_100a"), ("100f", "sm_100f")]
)
def test_specific_architectures_keep_their_letter(virtual: str, real: str, tmp_path: Path) -> None:
    pair = gencode(f"{virtual}:{real},compute_{virtual}")
    fatbin = nvcc(tmp_path / "kernels.fatbin", "-fatbin", *pair)
    cubin, _ = cubin_of(real)
    assert (inspect(fatbin).architectures, inspect(fatbin).ptx) == ([real], [f"compute_{virtual}"])
    assert inspect(cubin).architectures == [real]


def test_relocatable_object_and_what_the_device_linker_makes_of_it(tmp_path: Path) -> None:
    options = ["-rdc=true", *gencode("90:sm_90"), "-Xcompiler", "-fPIC"]
    obj = nvcc(tmp_path / "kernels.o", "-c", *options)
    library = nvcc(tmp_path / "kernels.so", "-shared", *options, source=obj)
    assert [(i.kind, i.relocatable) for i in inspect(obj).images] == [("code", True)]
    linked = [image for image in inspect(library).images if image.kind == "code"]
    assert linked
    assert not any(image.relocatable for image in linked)
    assert by_symbol(library).keys() == NAMES.keys()
    assert by_symbol(library)["_Z7spilledPfi"].spills


def test_called_functions_count_into_the_stack(tmp_path: Path) -> None:
    source = tmp_path / "calls.cu"
    source.write_text(
        "__device__ __noinline__ int callee(int* p, int n) {\n"
        "  volatile int a[100];\n"
        "  for (int i = 0; i < n; ++i) a[i & 63] = p[i];\n"
        "  return a[n & 63];\n}\n"
        "__global__ void caller(int* p, int n) { p[0] = callee(p, n); }\n",
        encoding="utf-8",
    )
    (kernel,) = inspect(nvcc(tmp_path / "calls.cubin", "-cubin", "-arch=sm_90", source=source))
    assert kernel.name == "caller(int*, int)"
    assert kernel.stack == 400


def test_ptx_text(tmp_path: Path) -> None:
    found = inspect(nvcc(tmp_path / "kernels.ptx", "-ptx", "-arch=compute_90"))
    assert (found.architectures, found.ptx) == ([], ["compute_90"])
