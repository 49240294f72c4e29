"""CUDA's headers on the CPU: what sources include by habit, and what it computes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gpuport

NARROW = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <typename T>
__global__ void widen(const T* in, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = float(in[i]);
}
template <typename T>
__global__ void narrow(const float* in, T* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = T(in[i]);
}
__global__ void compute(const half* a, const half* b, half* out, half factor) {
  const int i = threadIdx.x;
  const half2 pair = __halves2half2(a[i], b[i]);
  const float2 wide = __half22float2(__hmul2(pair, pair));
  out[4 * i] = a[i] + b[i];
  out[4 * i + 1] = __hfma(a[i], b[i], factor);
  out[4 * i + 2] = __float2half(wide.x);
  out[4 * i + 3] = __hmax(a[i], __hneg(b[i]));
}
"""
EXPRESSIONS = [f"{k}<{t}>" for k in ("widen", "narrow") for t in ("half", "__nv_bfloat16")]


@pytest.fixture
def narrow() -> gpuport.loading.Module:
    return gpuport.load(NARROW, backend="cpu", name_expressions=EXPRESSIONS)


@pytest.mark.parametrize(
    ("name", "dtype"), [("half", np.float16), ("__nv_bfloat16", ml_dtypes.bfloat16)]
)
def test_every_narrow_float(narrow: gpuport.loading.Module, name: str, dtype: type) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    wide = np.zeros(every.size, np.float32)
    narrow[f"widen<{name}>"](1, 64, (every, wide, every.size))
    np.testing.assert_array_equal(wide, every.astype(np.float32))
    # Halfway between any two neighbours, a bit beside it, and far out: rounding to nearest even.
    finite = wide[np.isfinite(wide)]
    with np.errstate(all="ignore"):
        above = np.nextafter(every, dtype(np.inf)).astype(np.float32)[np.isfinite(wide)]
        middles = (finite + above) / 2
    middles = middles[np.isfinite(middles)]
    values = [middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(9e9))]
    given = np.concatenate([*values, np.float32([1e-45, -1e-40, 3e38, np.inf, -np.inf, 0, -0.0])])
    out = np.zeros(given.size, dtype)
    narrow[f"narrow<{name}>"](1, 64, (given, out, given.size))
    with np.errstate(over="ignore"):
        expected = given.astype(dtype)
    np.testing.assert_array_equal(out.view(np.uint16), expected.view(np.uint16))


def test_arithmetic_of_halves(narrow: gpuport.loading.Module) -> None:
    generator = np.random.default_rng(1)
    a, b = (generator.standard_normal(32).astype(np.float16) for _ in range(2))
    out = np.zeros((32, 4), np.float16)
    narrow.compute(1, 32, (a, b, out, 0.1))
    exact = a.astype(np.float64) * b.astype(np.float64) + np.float64(np.float16(0.1))
    np.testing.assert_array_equal(out[:, 0], a + b)
    np.testing.assert_array_equal(out[:, 1], exact.astype(np.float32).astype(np.float16))
    np.testing.assert_array_equal(out[:, 2], a * a)
    np.testing.assert_array_equal(out[:, 3], np.maximum(a, -b))
    narrow.compute(1, 32, (a, b, out, np.float16(0.1)))
    with pytest.raises(OverflowError, match=r"factor \(half\): 65520.0 does not fit"):
        narrow.compute(1, 32, (a, b, out, 65520.0))
    with pytest.raises(TypeError, match="float16 wanted"):
        narrow.compute(1, 32, (a.view(np.uint16), b, out, 1))


HABITS = """
#include <cuda.h>
#include <cuda_runtime.h>
#include "device_launch_parameters.h"
#include <cuComplex.h>
#include <math_constants.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void habits(const cuDoubleComplex* z, double* out, const int* x, int* sums) {
  if (threadIdx.x == 0) {
    const cuDoubleComplex q = cuCdiv(cuCmul(z[0], z[1]), cuConj(z[1]));
    out[0] = cuCreal(q), out[1] = cuCimag(q), out[2] = cuCabs(z[0]);
    out[3] = sinpi(1.0), out[4] = cospi(0.5), out[5] = cospi(1.0), out[6] = sinpi(0.25);
    out[7] = CUDART_PI, out[8] = umax(3u, 5u), out[9] = normcdf(0.0);
  }
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  sums[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
  block.sync();
  if (threadIdx.x % 3 == 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    sums[threadIdx.x] = 1000 * active.size() + active.thread_rank();
  }
}
int main() {
  double* out;
  size_t pitch;
  cudaMallocPitch((void**)&out, &pitch, 100, 10);
  habits<<<1, 32>>>((cuDoubleComplex*)0, out, (int*)0, (int*)0);
  printf("%s\\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return (int)strlen("host code compiles too");
}
"""


def test_what_sources_include_by_habit() -> None:
    z, out = np.array([3 + 4j, 1 - 2j]), np.full(10, np.nan)
    x, sums = np.arange(32, dtype="i4"), np.zeros(32, "i4")
    gpuport.load(HABITS, backend="cpu").habits(1, 32, (z, out, x, sums))
    q = z[0] * z[1] / z[1].conj()
    expected = [q.real, q.imag, 5, 0, 0, -1, np.sqrt(0.5), np.pi, 5, 0.5]
    np.testing.assert_allclose(out, expected, rtol=1e-15, atol=1e-15)
    assert out[3] == out[4] == 0
    tiles = np.repeat(x.reshape(2, 16).sum(1), 16)
    tiles[::3] = 11000 + np.arange(11)
    np.testing.assert_array_equal(sums, tiles)
