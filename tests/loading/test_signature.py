"""Kernels and variables as the text of a source declares them."""

from __future__ import annotations

import pytest

from gpuport.loading.signature import KernelSource, find_globals, find_kernels
from gpuport.translate.source import Source


def source_of(text: str) -> Source:
    return Source.from_bytes(text.encode(), "k.cu", {"NOT_HERE": None})


def kernels(text: str) -> list[KernelSource]:
    return list(find_kernels(source_of(text)))


def variables(text: str) -> list[str]:
    return [variable.qualified for variable in find_globals(source_of(text))]


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("__global__ void k() {}", "k", {}),
        ("__global__ void k(void);", "k", {}),
        ("void __global__ k(int n) {}", "k", {"n": "int"}),
        ("static __global__ void k(int const n);", "k", {"n": "int const"}),
        ('extern "C" __global__ void k(float *__restrict__ x) {}', "k", {"x": "float*"}),
        (
            'extern "C" { __global__ void k(const float* const __restrict x) {} }',
            "k",
            {"x": "const float*"},
        ),
        ("__global__ void __launch_bounds__(256, 2) k(int n) {}", "k", {"n": "int"}),
        ("__launch_bounds__(256) __global__ void k(int n) {}", "k", {"n": "int"}),
        ("__global__ void __launch_bounds__(256) noexcept_k(int x);", "noexcept_k", {"x": "int"}),
        ("__global__ void k(constant x, structure s);", "k", {"x": "constant", "s": "structure"}),
        ("__global__ __attribute__((noinline)) void k(int n) {}", "k", {"n": "int"}),
        ("__global__ BOUNDS(1, 2) void k(int n) {}", "k", {"n": "int"}),
        ("__global__ void\nk /* a, b */ (int n, // (\n int m)\n{}", "k", {"n": "int", "m": "int"}),
        (
            "__global__ void k(std::array<int, 3> a, int b = f(1, 2)) {}",
            "k",
            {"a": "std::array<int, 3>", "b": "int"},
        ),
        ("__global__ void k(int a[], float b[4][2]) {}", "k", {"a": "int*", "b": "float (*)[2]"}),
        (
            "__global__ void k(unsigned long long n, struct P p) {}",
            "k",
            {"n": "unsigned long long", "p": "struct P"},
        ),
        ("namespace a { namespace b::c { __global__ void k(); } }", "a::b::c::k", {}),
        ("namespace { __global__ void k(); }", "k", {}),
        ("inline namespace v1 { __global__ void k(); }", "v1::k", {}),
        ("template __global__ void k<float, 2>(float* p);", "k<float, 2>", {"p": "float*"}),
        ("template <> __global__ void k<int>(int* p) {}", "k<int>", {"p": "int*"}),
    ],
)
def test_one_kernel(text: str, name: str, parameters: dict[str, str]) -> None:
    (kernel,) = kernels(text)
    assert kernel.qualified == name
    assert dict(zip(kernel.parameters, kernel.types, strict=True)) == parameters
    assert not kernel.is_template


def test_parameters_without_names() -> None:
    (kernel,) = kernels("__global__ void k(int, unsigned int, float*, const Pair, a::T) {}")
    assert kernel.parameters == ("",) * 5
    assert kernel.types == ("int", "unsigned int", "float*", "const Pair", "a::T")


@pytest.mark.parametrize(
    "text",
    [
        "template <typename T> __global__ void k(T* x) {}",
        "template<int N>\n__global__ void k(int* x);",
    ],
)
def test_templates(text: str) -> None:
    (kernel,) = kernels(text)
    assert kernel.is_template


@pytest.mark.parametrize(
    "text",
    [
        "// __global__ void k();",
        '"__global__ void k();"',
        "#define KERNEL(name) __global__ void name()",
        "#if 0\n__global__ void k() {}\n#endif",
        "#ifdef NOT_HERE\n__global__ void k() {}\n#endif",
        "struct S { __global__ void k(); };",
        "__global__",
        "__global__ void k(int",
    ],
)
def test_no_kernel(text: str) -> None:
    assert kernels(text) == []


def test_conditions() -> None:
    text = (
        "#ifndef GUARD_H\n#define GUARD_H\n#if A > 1 // first\n#define B\n#elif defined(C)\n"
        "#ifdef D\n#endif\n__global__ void k();\n#else\n__global__ void l();\n#endif\n"
        "__global__ void m();\n#endif\n"
    )
    k, l, m = kernels(text)  # noqa: E741
    assert k.conditions == ("#if A > 1", "#elif defined(C)", "")
    assert l.conditions == ("#if A > 1", "#elif defined(C)", "#else", "")
    assert m.conditions == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__device__ int x;", ["x"]),
        ("__constant__ float a[4] = {1, 2}, b = f(3);", ["a", "b"]),
        ("static __device__ __managed__ unsigned long long n = 0;", ["n"]),
        ("namespace a { __constant__ Pair table[N]; }", ["a::table"]),
        ("__device__ float* p, *q;", ["p", "q"]),
        ("__constant__ __align__(16) float4 v{1, 2, 3, 4};", ["v"]),
        ("__device__ int f(int x);", []),
        ("__device__ int f(int x) { return x; }", []),
        ("template <typename T> __device__ T f() {}\n__device__ int y;", ["y"]),
        ("__global__ void k() { __device__ int x; }", []),
        ("#define D __device__\nstruct S { __device__ int f(); int x; };", []),
        ("__device__ auto g = [] { return 1; };", ["g"]),
        ("__constant__ float const_array[32];", ["const_array"]),
        (
            "__device__ int static_count, inline_, volatile_flag[2];",
            ["static_count", "inline_", "volatile_flag"],
        ),
        ("__device__ const Constants constants;", ["constants"]),
        ("__constant__ int operator_table[4], externals = 1;", ["operator_table", "externals"]),
    ],
)
def test_variables(text: str, names: list[str]) -> None:
    assert variables(text) == names
