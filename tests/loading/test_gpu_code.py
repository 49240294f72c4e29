"""Modules for GPUs: compiled wherever there is a compiler, run where there is a device."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import gpuport
from gpuport.loading import rtc
from gpuport.loading.compiling import errors_of
from gpuport.loading.cuda_toolchain import Tools, find_nvcc, find_nvrtc, find_tools
from gpuport.loading.driver import driver
from gpuport.loading.gpu_code import choose_arch
from gpuport.loading.hip_toolchain import find_tools as find_hip_tools

HERE = Path(__file__).parent
KERNELS = HERE / "kernels.cu"
EXAMPLES = HERE.parents[1] / "examples" / "own_kernels"
TEMPLATES = ["scale<float, 3>", "scale<int, 2>"]
NAMES = [
    "saxpy", "scale<double, 7>", "outer::inner::put", "outer::inner::secret", "numbers", "structs",
    "reversed", "tell", "add_bias", "divergent", "asserting", "meet", "nothing", "chosen",
    *TEMPLATES,
]  # fmt: skip


def require_compiler(backend: str) -> None:
    if backend == "cuda" and find_nvrtc() is None and find_nvcc() is None:
        pytest.skip("neither NVRTC nor nvcc is here")
    if backend == "hip":
        tools = find_hip_tools()
        if tools.clang is None and tools.hiprtc is None:
            pytest.skip(f"no HIP compiler is here: {tools.reason}")


def require_no_device(backend: str) -> None:
    with suppress(gpuport.BackendUnavailableError):
        driver(backend)
        pytest.skip(f"{backend} has a device here, and this is about machines without one")


def require_device(backend: str) -> None:
    try:
        driver(backend)
    except gpuport.BackendUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(
    params=[("cuda", ("sm_80", "compute_90")), ("hip", ("gfx90a",))], ids=["cuda", "hip"]
)
def compiled(request: pytest.FixtureRequest) -> gpuport.loading.Module:
    backend, archs = request.param
    require_compiler(backend)
    require_no_device(backend)
    return gpuport.load(KERNELS, backend=backend, archs=archs, name_expressions=TEMPLATES)


def test_compiling_needs_no_device(compiled: gpuport.loading.Module) -> None:
    assert list(compiled.kernels) == NAMES
    assert compiled.saxpy.signature == "saxpy(float, const float*, float*, int)"
    assert compiled.archs == (
        ("sm_80", "compute_90") if compiled.backend == "cuda" else ("gfx90a",)
    )
    assert compiled.warp_size == 0
    x = np.zeros(4, "f4")
    for use in (
        lambda: compiled.saxpy(1, 4, (1, x, x, 4)),
        lambda: compiled.saxpy.attributes,
        lambda: compiled.saxpy.occupancy(256),
        lambda: compiled.get_global("bias"),
    ):
        with pytest.raises(gpuport.BackendUnavailableError, match="compiled and cannot run"):
            use()


def test_the_compiler_tells_the_same_everywhere(compiled: gpuport.loading.Module) -> None:
    cpu = gpuport.load(KERNELS, backend="cpu", name_expressions=TEMPLATES)
    expected = {(k.signature, k.parameters) for k in cpu._record.kernels}
    assert {(k.signature, k.parameters) for k in compiled._record.kernels} == expected
    variables = {(v.name, v.kind, v.element_size, v.shape) for v in compiled._record.globals}
    # One that no kernel uses may have been left out.
    assert variables >= {("bias", 4, 4, (4,)), ("counter", 2, 4, ()), ("other", 2, 4, ())}
    symbols = [k.symbol for k in compiled._record.kernels]
    assert len(set(symbols)) == len(NAMES) + 1  # put has two


SPELLED = """\
#include <unistd.h>
enum class Mode : unsigned char { kOne, kTwo };
typedef unsigned long long Wide;
template <class T, unsigned N> __global__ void k(T* p) { *p = N; }
template <unsigned N, bool B> __global__ void r(float* p) { *p = N + B; }
template <class T, size_t N, int M = 3> __global__ void q(T* p) { *p = T(); }
template <Mode M, char C> __global__ void e(Wide* p) { *p = C; }
namespace { template <short N> __global__ void hidden(int* p) { *p = N; } }
__global__ void f(unsigned char* o) { *o = 1; }
__global__ void f(uchar4* o) { o->x = 1; }
static __global__ void f(const Wide* o, int) {}
__global__ void write(int* p) { *p = 1; }  // a function of the C library, too
__global__ void wrapped(int* p) { *p = 1; }
void wrapped(int* p, int n) { wrapped<<<n, 1>>>(p); }
extern "C" __global__ void plain(int* p) { *p = 1; }
"""
EXPRESSIONS = [
    *("k<float, 256>", "k<float, 255u>", "k<Wide, 1>", "r<128, true>", "r<64, 0>", "r<32ul, 0>"),
    *("q<float, 4>", "q<float, 4, 1>", "q<uint4 *, sizeof(int)>", "e<Mode::kTwo, 'a'>"),
    *("e<Mode(1), 98>", "hidden<-3>"),
]


@pytest.mark.parametrize(
    ("backend", "arch"), [("cuda", "sm_80"), ("cuda", "compute_80"), ("hip", "gfx90a")]
)
def test_every_kernel_has_its_symbol(backend: str, arch: str) -> None:
    """However a template argument is spelled; beside overloads of all kinds."""
    require_compiler(backend)
    if backend == "cuda" and find_nvcc() is None:
        pytest.skip("nvcc is not here")
    module = gpuport.load(SPELLED, backend=backend, archs=[arch], name_expressions=EXPRESSIONS)
    expected = [
        ("f", "_Z1fPh"),
        ("f", r"_Z1fP\w*(?:uchar4|HIP_vector_type)\w*"),
        ("f", "_ZL?1fPKyi"),
        ("write", "_Z5writePi"),
        ("wrapped", "_Z7wrappedPi"),
        ("plain", "plain"),
        ("k<float, 256>", "_Z1kIfLj256EEvPT_"),
        ("k<float, 255u>", "_Z1kIfLj255EEvPT_"),
        ("k<Wide, 1>", "_Z1kIyLj1EEvPT_"),
        ("r<128, true>", "_Z1rILj128ELb1EEvPf"),
        ("r<64, 0>", "_Z1rILj64ELb0EEvPf"),
        ("r<32ul, 0>", "_Z1rILj32ELb0EEvPf"),
        ("q<float, 4>", "_Z1qIfLm4ELi3EEvPT_"),
        ("q<float, 4, 1>", "_Z1qIfLm4ELi1EEvPT_"),
        ("q<uint4 *, sizeof(int)>", r"_Z1qIP\w+Lm4ELi3EEvPT_"),
        ("e<Mode::kTwo, 'a'>", "_Z1eIL4Mode1ELc97EEvPy"),
        ("e<Mode(1), 98>", "_Z1eIL4Mode1ELc98EEvPy"),
        ("hidden<-3>", r"_ZN\w+6hiddenILsn3EEEvPi"),
    ]
    found = [(k.name, k.symbol) for k in module._record.kernels]
    assert [name for name, _ in found] == [name for name, _ in expected]
    for (name, symbol), (_, pattern) in zip(found, expected, strict=True):
        assert re.fullmatch(pattern, symbol), f"{name}: {symbol}"


@pytest.mark.parametrize(("backend", "arch"), [("cpu", ""), ("cuda", "sm_80"), ("hip", "gfx90a")])
def test_errors_without_the_warnings_around_them(backend: str, arch: str) -> None:
    require_compiler(backend)
    source = (
        "#include <vector>\n[[nodiscard]] int f();\n__global__ void k(int* p) { *p = 1; }\n"
        "void host(int* p) {\n" + "f();\ncudaFree(p);\n" * 3 + "undeclared(p);\n}\n"
        "#warning one more\n__device__ int no_result(int* p) { int unused; }\n"
    )
    with pytest.raises(gpuport.CompileError) as caught:
        gpuport.load(
            source, backend=backend, archs=[arch] if arch else (), options=["-Wall"] * (not arch)
        )
    said = str(caught.value)
    errors = [line for line in said.splitlines() if re.search(r"\b(?:error|warning)\b", line)]
    assert re.match(r"<source>(?::11:\d+:|\(11\):) error: .*undeclared", errors[0])
    assert "warning:" not in said
    assert "nodiscard" not in said


def test_warnings_are_told_where_they_are_all_there_is() -> None:
    said = "a.cu:1:2: warning: odd\n  x\n  ^\n"
    assert errors_of(said) == said
    assert errors_of(said + "ld: no such file") == said + "ld: no such file"
    error = "In file included from b.cu:1:\nb.h:3:4: error: bad\n  y\nb.h:1:1: note: here\n  z"
    end = "1 warning and 1 error generated when compiling for gfx90a."
    noted = said + "a.cu:7:1: note: of the warning\n  x\n"
    assert errors_of(f"{noted}{error}\n{said}{end}") == f"{error}\n{end}"
    ours = "<gpuport>:1:1: error: no such type\n  GPUPORT_PARAMETERS(0)"
    assert errors_of(f"{ours}\n{error}") == error
    assert errors_of(f"{said}{ours}") == ours


MANAGED = """
__device__ __managed__ int counter;
__managed__ float table[2][3];
__constant__ unsigned char flags[5];
__global__ void k(float* p) { atomicAdd(&counter, flags[0]); *p = table[1][2]; }
"""


@pytest.mark.parametrize(
    ("backend", "archs"), [("cpu", ()), ("cuda", ("sm_80",)), ("hip", ("gfx90a",))]
)
def test_managed_variables(backend: str, archs: tuple[str, ...]) -> None:
    require_compiler(backend)
    record = gpuport.load(MANAGED, backend=backend, archs=archs)._record
    variables = {(v.name, v.kind, v.element_size, v.shape) for v in record.globals}
    expected = {("counter", 2, 4, ()), ("table", 4, 4, (2, 3)), ("flags", 3, 1, (5,))}
    assert variables == expected


def test_only_the_kernel_that_is_unclear_is_refused() -> None:
    """Before C++17 the compiler does not tell which of two overloads is which."""
    if find_nvcc() is None:
        pytest.skip("nvcc is not here")
    source = (
        "#include <cstdint>\n#include <vector>\n__global__ void f(uint8_t* o) { *o = 1; }\n"
        "__global__ void f(uchar4* o) { o->x = 1; }\n__global__ void kernel(int* o) { *o = 1; }\n"
    )
    module = gpuport.load(source, backend="cuda", archs=["sm_80"], options=["-std=c++14"])
    assert module.kernels == ("f", "kernel")
    assert module.kernel.signature == "kernel(int*)"
    with pytest.raises(gpuport.CompileError, match=r"<source>:3: which symbol is f\?.*f\(unsigned"):
        module["f"]


@pytest.mark.parametrize("backend", ["cuda", "hip"])
def test_errors_name_the_original(backend: str, tmp_path: Path) -> None:
    require_compiler(backend)
    arch = {"cuda": "sm_80", "hip": "gfx90a"}[backend]
    source = tmp_path / "my kernel.cu"
    source.write_text('#include "h.h"\n\n__global__ void k(int* p) {\n  *p = oops;\n}\n')
    (tmp_path / "h.h").write_text("#pragma once\n")
    with pytest.raises(gpuport.CompileError) as caught:
        gpuport.load(source, backend=backend, archs=[arch])
    place = f"{source}(4)" if backend == "cuda" else f"{source}:4:"
    assert place in str(caught.value)
    assert "oops" in str(caught.value)


def test_without_a_device_architectures_have_to_be_named() -> None:
    for backend, wrong in (("cuda", "gfx90a"), ("hip", "sm_90")):
        require_compiler(backend)
        with pytest.raises(ValueError, match=f"'{wrong}' is no"):
            gpuport.load("\n__global__ void k() {}\n", backend=backend, archs=[wrong])
        try:
            driver(backend)
        except gpuport.BackendUnavailableError:
            with pytest.raises(
                gpuport.BackendUnavailableError, match="to compile only, name archs"
            ):
                gpuport.load("\n__global__ void k() {}\n", backend=backend)


def test_the_default_is_a_gpu_that_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuport.loading import backends
    from gpuport.loading import driver as drivers

    for backend in ("cuda", "hip"):
        require_no_device(backend)
    assert gpuport.load("\n__global__ void k() {}\n").backend == "cpu"
    monkeypatch.setattr(backends.os.path, "exists", lambda path: path == "/dev/kfd")
    assert backends.default_backend() == "cpu"  # a device without a driver
    monkeypatch.setattr(drivers, "driver", lambda backend: backend)
    assert backends.default_backend() == "hip"


def test_nvcc_where_nvrtc_does_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_nvcc() is None:
        pytest.skip("nvcc is not here")
    from gpuport.loading import cuda_toolchain

    source = (
        KERNELS.read_text()
        + "#include <vector>\nint main() { std::vector<int> v(3); nothing<<<1, 1>>>(); }\n"
    )
    headers = {"offset.h": "#define OFFSET 1\n"}
    tools = find_tools()
    made = []
    for chosen in (tools, Tools(None, tools.nvcc, tools.headers)):
        monkeypatch.setattr(cuda_toolchain, "find_tools", lambda chosen=chosen: chosen)
        module = gpuport.load(
            source, backend="cuda", archs=["sm_80"], headers=headers, name_expressions=TEMPLATES
        )
        assert module.compiler == "nvcc"
        made.append({(k.signature, k.parameters) for k in module._record.kernels})
    assert made[0] == made[1]
    assert len(made[0]) == len(NAMES) + 1


def test_hiprtc_where_there_is_no_clang(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuport.loading import hip_toolchain

    library = hip_toolchain._find_hiprtc()
    if library is None:
        pytest.skip("hiprtc is not here")
    require_no_device("hip")
    chosen = hip_toolchain.Tools(None, (), library, "none wanted")
    monkeypatch.setattr(hip_toolchain, "find_tools", lambda: chosen)
    source = (
        '#include "b.h"\ntemplate <typename T>\n__global__ void k(T* p, int n) { *p = N + n; }\n'
    )
    how = {"backend": "hip", "archs": ["gfx90a"], "options": [f"-I{HERE / 'hiprtc'}"]}
    module = gpuport.load(source, name_expressions=["k<float>"], **how)
    assert (module.compiler, module.kernels) == ("hiprtc", ("k<float>",))
    assert module["k<float>"].signature == "k<float>(T*, int)"
    with pytest.raises(gpuport.CompileError, match=r"<source>:3:.*error"):
        gpuport.load(source.replace("N", "oops"), name_expressions=["k<int>"], **how)


def test_nvrtc_compiles_by_itself() -> None:
    path = find_nvrtc()
    if path is None:
        pytest.skip("NVRTC is not here")
    assert rtc.version(path, rtc.NVRTC) >= (11, 2)
    source = (
        "#include <cstdint>\n#include <cfloat>\n#include <climits>\n#include <cuda_runtime.h>\n"
    )
    source += "__global__ void k(uint8_t* p, int64_t n) { *p = INT_MAX > n ? FLT_MAX : 0; }\n"
    module = gpuport.load(source, backend="cuda", archs=["compute_80"])
    assert module.compiler.startswith("NVRTC")
    assert [p.size for p in module._record.kernels[0].parameters] == [8, 8]


@pytest.mark.parametrize(
    ("device", "archs", "chosen"),
    [
        ("sm_90", ("sm_80", "sm_90", "compute_90"), "sm_90"),
        ("sm_89", ("sm_80", "sm_86", "sm_90"), "sm_86"),
        ("sm_90", ("sm_80", "compute_70", "compute_80"), "compute_80"),
        ("sm_90", ("sm_90a",), "sm_90a"),
        ("sm_90", ("sm_80", "sm_100", "compute_100"), None),
        ("gfx90a:sramecc+:xnack-", ("gfx942", "gfx90a"), "gfx90a"),
        ("gfx90a:sramecc+:xnack-", ("gfx90a:xnack+", "gfx90a:xnack-"), "gfx90a:xnack-"),
        ("gfx1100", ("gfx1030",), None),
    ],
)
def test_the_code_that_a_device_runs(
    device: str, archs: tuple[str, ...], chosen: str | None
) -> None:
    files = dict.fromkeys(archs, "")
    if chosen is not None:
        assert choose_arch(device, files) == chosen
    else:
        with pytest.raises(gpuport.UnsupportedArchError, match=device):
            choose_arch(device, files)


def example(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "run.py"), *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_examples_on_the_cpu() -> None:
    assert example("--backend", "cpu").count("agrees") == 10


@pytest.mark.parametrize(("backend", "arch"), [("cuda", "sm_90"), ("hip", "gfx90a")])
def test_the_examples_compile(backend: str, arch: str) -> None:
    require_compiler(backend)
    assert example("--backend", backend, "--arch", arch).count("compiled in") == 5


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cuda", "hip"])
def test_the_examples_on_a_gpu(backend: str) -> None:
    require_device(backend)
    assert example("--backend", backend).count("agrees") == 5


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cuda", "hip"])
def test_a_module_on_a_gpu(backend: str) -> None:
    require_device(backend)
    module = gpuport.load(KERNELS, backend=backend, name_expressions=TEMPLATES)
    n = 1000
    x = gpuport.DeviceArray.from_numpy(np.arange(n, dtype="f4"), backend=backend)
    y = gpuport.DeviceArray.from_numpy(np.ones(n, "f4"), backend=backend)
    module.saxpy((4,), (256,), (2.0, x, y, n))
    np.testing.assert_array_equal(y.to_numpy(), 2 * np.arange(n, dtype="f4") + 1.5)
    with pytest.raises(
        TypeError, match=rf"x .*the array is on the host, the kernel runs on {backend}"
    ):
        module.saxpy(1, 1, (2.0, np.zeros(4, "f4"), y, 4))
    with pytest.raises(gpuport.LaunchError, match="kernel nothing"):
        module.nothing(1, 4096)
    module.nothing(1, 1)
    assert module.saxpy.attributes["num_regs"] > 0
    assert module.saxpy.occupancy(256) > 0
    module.get_global("bias").set([5, 6, 7, 8])
    assert module.get_global("bias").get().tolist() == [5, 6, 7, 8]
    lanes = gpuport.DeviceArray.from_numpy(np.zeros(1, "i4"), backend=backend)
    module.tell(1, 1, (lanes, x))
    assert lanes.to_numpy()[0] == module.warp_size
