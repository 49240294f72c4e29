"""Host code beside kernels: launches with default arguments, and functions of other files."""

from __future__ import annotations

import pytest

import gpuport
from gpuport.testing import Target

SOURCE = """
__device__ int answers[8];
struct Pair { int a, b; };
__global__ void one(int* out, float factor = 2.5f, Pair pair = Pair{3, 4}) {
  atomicAdd(out, int(4 * factor) + pair.a * 100 + pair.b);
}
template <typename T, int kStep = 2> __global__ void many(T* out, T first = 10, int times = kStep) {
  atomicAdd(out, first * T(times));
}
__global__ void overloaded(int* out, int value = 1) { atomicAdd(out, value); }
__global__ void overloaded(float*) {}
__global__ void all(int value = 5) { atomicAdd(&answers[6], value); }
int host() {
  int* out = answers;
  one<<<1, 2>>>(out);
  one<<<1, 1>>>(out + 1, 1);
  one<<<1, 1>>>(out + 2, 1, Pair{0, 1});
  many<int><<<1, 3>>>(out + 3);
  many<int, 7><<<1, 1>>>(out + 4, 2L);
  overloaded<<<1, 4>>>(out + 5);
  all<<<2, 1>>>();
  answers[7] = cudaGetLastError();
  return 0;
}
int done = host();
"""


def test_default_arguments(cpu: Target) -> None:
    # A launch that wakes all cores before, so that those launched while the module is loaded do.
    warm = gpuport.load("__global__ void k() {}\n", backend="cpu", warp_size=cpu.warp_size)
    warm.k(64, 32)
    module = gpuport.load(SOURCE, backend="cpu", warp_size=cpu.warp_size)
    assert module.get_global("answers").get().tolist() == [
        2 * (10 + 304), 4 + 304, 4 + 1, 3 * 20, 14, 4, 10, 0,
    ]  # fmt: skip


def test_functions_of_another_file_are_named() -> None:
    source = """extern "C" bool isPow2(unsigned x);
    namespace other { int pages(float); }
    __global__ void k(int* p) { *p = 1; }
    void host(int* p, int n) { if (isPow2(n) && other::pages(2)) k<<<1, 1>>>(p); }
    """
    with pytest.raises(gpuport.CompileError) as caught:
        gpuport.load(source, backend="cpu")
    first, second, advice = str(caught.value).split("\n")[:3]
    assert first == ("<source>: isPow2 is declared and defined nowhere (host(int*, int) needs it)")
    assert second.startswith("<source>: other::pages(float) is declared and defined nowhere")
    assert advice.startswith("gpuport.load compiles one translation unit: give the definition")
