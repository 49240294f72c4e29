"""Builds the test kernels, for the CPU through the translator and the SIMT runtime, and with nvcc
where there is a GPU, so that each operation is seen at both warp widths."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "layer"
# The sources of each library, and what is defined for them.
SOURCES = {
    "layer": ([HERE / "layer.cu", HERE / "states.cu"], []),
    "order": ([HERE / "order.cu"], []),
    "strides": ([HERE / "strides.cu"], ["-DGP_MAX_BLOCKS=2"]),
}
KERNELS = ROOT / "kernels" / "cuda"
SIMT = ROOT / "kernels" / "cpu" / "simt"
# The kernels' own folders, of which the sources include what they show.
FAMILIES = ("reduce", "scan", "softmax")
HEADERS = {".cuh", ".hpp"}

Library = ctypes.CDLL


def run(*command: str | Path, **kwargs: object) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **kwargs)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def build_cpu(name: str, folder: Path) -> Path:
    tree = translated(folder / "cpu")
    sources, flags = SOURCES[name]
    common = [*sorted(SIMT.glob("*.cpp")), *sorted((tree / "gpuport").glob("*.cpp"))]
    compiler = os.environ.get("CXX", "g++")

    def compiled(source: Path) -> Path:
        target = tree / f"{source.name}.o"
        if not target.exists():
            # Without unique symbols, so that two libraries in one process share nothing.
            run(
                compiler, "-std=c++20", "-O1", "-fPIC", "-pthread", "-fno-gnu-unique", *flags,
                "-DGP_TARGET_CPU=1", f"-I{tree}", f"-I{SIMT / 'include'}", "-o", target,
                "-x", "c++", "-c", source,
            )  # fmt: skip
        return target

    with ThreadPoolExecutor(2) as pool:  # the largest first
        objects = list(pool.map(compiled, [*(tree / source.name for source in sources), *common]))
    library = folder / f"{name}_cpu.so"
    run(compiler, "-shared", "-pthread", "-o", library, *objects)
    return library


def translated(tree: Path) -> Path:
    """What the sources include, and they, as the CPU has them."""
    if tree.exists():
        return tree
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python" / "gpuport")}
    sources = [source for group, _ in SOURCES.values() for source in group]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    kernels = [KERNELS / name for name in re.findall(r"#include <(\w+/\w+\.cu)>", text)]
    kernels += [p for p in (KERNELS / "gpuport").iterdir() if p.suffix in HEADERS | {".cpp"}]
    kernels += [p for d in FAMILIES for p in (KERNELS / d).iterdir() if p.suffix in HEADERS]
    jobs = [(p, tree / p.relative_to(KERNELS)) for p in dict.fromkeys(kernels)]
    jobs += [(p, tree / p.name) for p in (HERE / "harness.hpp", *sources)]

    def translate(job: tuple[Path, Path]) -> None:
        job[1].parent.mkdir(parents=True, exist_ok=True)
        run(
            sys.executable, "-m", "translate", "--target", "cpu", job[0], "--output", job[1],
            env=environment,
        )  # fmt: skip

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(translate, jobs))
    return tree


def build_cuda(name: str, folder: Path) -> Path:
    sources, flags = SOURCES[name]
    home = folder / f"{name}_cuda"
    home.mkdir()
    nvcc = shutil.which("nvcc") or "nvcc"

    def compiled(source: Path) -> Path:
        target = home / f"{source.name}.o"
        run(
            nvcc, "-std=c++20", "-O2", "-arch=native", "-Xcompiler", "-fPIC,-fno-gnu-unique",
            "--expt-relaxed-constexpr", "-DGP_TARGET_CUDA=1", *flags, f"-I{KERNELS}",
            "-o", target, "-c", source,
        )  # fmt: skip
        return target

    with ThreadPoolExecutor(4) as pool:
        objects = list(pool.map(compiled, [*sources, *sorted((KERNELS / "gpuport").glob("*.cpp"))]))
    library = folder / f"{name}_cuda.so"
    run(nvcc, "-arch=native", "-shared", "-o", library, *objects)
    return library


@cache
def load(name: str, backend: str, folder: Path) -> Library | str:
    """A backend's library of that name, or why there is none."""
    if backend == "cuda" and shutil.which("nvcc") is None:
        return "no nvcc on PATH"
    if backend == "cuda" and not has_nvidia_gpu():
        return "no NVIDIA driver or GPU"
    library = ctypes.CDLL(str({"cpu": build_cpu, "cuda": build_cuda}[backend](name, folder)))
    library.layer_last_error.restype = ctypes.c_char_p
    return library


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("layer")


def has_nvidia_gpu() -> bool:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return (
        driver.cuInit(0) == 0
        and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        and count.value > 0
    )


class Layer:
    """One device of one backend."""

    def __init__(self, library: Library, device: int) -> None:
        self.library = library
        self.device = device
        self.width: int = library.layer_warp_size(device)

    def call(self, name: str, *arguments: object) -> None:
        converted = [
            a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in arguments
        ]
        status = getattr(self.library, name)(self.device, *converted)
        assert status == 0, self.library.layer_last_error().decode()


PLACES = [("cpu", 32), ("cpu", 64), pytest.param(("cuda", 32), marks=pytest.mark.gpu)]


def device_of(name: str, place: tuple[str, int], folder: Path) -> Layer:
    backend, width = place
    library = load(name, backend, folder)
    if isinstance(library, str):
        pytest.skip(f"{backend}: {library}")
    device = Layer(library, 1 if width == 64 else 0)
    assert device.width == width
    return device


@pytest.fixture
def compile_text(build_folder: Path, tmp_path: Path) -> Callable[[str], str]:
    """What the host compiler says of a source over the portable layer; "" if it takes it."""
    tree = translated(build_folder / "cpu")

    def compile_it(text: str) -> str:
        source = tmp_path / "text.cpp"
        source.write_text(f"#include <gpuport/gpuport.cuh>\n{text}\n", encoding="utf-8")
        done = subprocess.run(
            [os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-DGP_TARGET_CPU=1",
             f"-I{tree}", f"-I{SIMT / 'include'}", source],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return "" if done.returncode == 0 else done.stderr

    return compile_it


@pytest.fixture(params=PLACES, ids=lambda p: f"{p[0]}-{p[1]}")
def layer(request: pytest.FixtureRequest, build_folder: Path) -> Layer:
    return device_of("layer", request.param, build_folder)


@pytest.fixture(params=PLACES, ids=lambda p: f"{p[0]}-{p[1]}")
def strides(request: pytest.FixtureRequest, build_folder: Path) -> Layer:
    """Kernels whose grids have two blocks at most."""
    device = device_of("strides", request.param, build_folder)
    device.library.layer_kernel.restype = ctypes.c_char_p
    return device


@pytest.fixture(params=PLACES, ids=lambda p: f"{p[0]}-{p[1]}")
def order(request: pytest.FixtureRequest, build_folder: Path) -> Layer:
    """Kernels whose sums are products of matrices."""
    device = device_of("order", request.param, build_folder)
    device.library.layer_scan.restype = ctypes.c_char_p
    return device
