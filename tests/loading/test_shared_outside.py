"""Static shared memory that is declared outside of functions, on the CPU."""

from __future__ import annotations

import numpy as np

import gpuport
from gpuport.testing import Target

SOURCE = """
struct Pair { int first; float second; };
__shared__ unsigned x;
static __shared__ __align__(64) int table[2][128];
namespace deep { __shared__ Pair pair, pairs[3]; volatile __shared__ int flag; }
extern __shared__ int dynamic[];

__device__ void count() { atomicAdd(&x, 1u); }
__device__ int* row(int i) { return table[i]; }

__global__ void tally(unsigned* out, unsigned* before) {
  if (threadIdx.x == 0) before[blockIdx.x] = x;
  __syncthreads();
  if (threadIdx.x == 0) x = blockIdx.x;
  __syncthreads();
  count();
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
__global__ void reverse(const int* in, int* out, int* facts) {
  const int i = threadIdx.x, n = blockDim.x;
  row(1)[i] = in[i];
  dynamic[i] = in[i] * 2;
  if (i == 0) deep::pair = Pair{n, 0.5f}, deep::pairs[2].first = 7, deep::flag = 1;
  __syncthreads();
  out[i] = table[1][n - 1 - i] + dynamic[n - 1 - i];
  if (i == 1) {
    facts[0] = deep::pair.first + deep::pairs[2].first + deep::flag;
    facts[1] = sizeof(table) + sizeof x;
    facts[2] = reinterpret_cast<unsigned long long>(&table) % 64;
    facts[3] = table[0][5];
  }
}
// Every block keeps a number of its own while the others run on the same cores.
__global__ void interleaved(int* arrived, int* out) {
  if (threadIdx.x == 0) x = 1000 + blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < int(gridDim.x)) {
    }
    x += 1;
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
"""
POISON = 0x7FF57FF5


def test_each_block_has_its_own(cpu: Target) -> None:
    module = gpuport.load(SOURCE, backend="cpu", warp_size=cpu.warp_size)
    out, before = np.full(5 * 70, 77, "u4"), np.full(5, 77, "u4")
    for _ in range(2):
        module.tally(5, 70, (out, before))
        np.testing.assert_array_equal(out, np.repeat(np.arange(5) + 70, 70))
        assert before.tolist() == [POISON] * 5

    values = np.arange(100, dtype="i4")
    result, facts = np.full(101, 77, "i4"), np.full(5, 77, "i4")
    module.reverse(1, 100, (values, result, facts), shared_mem=400)
    np.testing.assert_array_equal(result[:100], 3 * values[::-1])
    assert result[100] == 77
    assert facts.tolist() == [108, 2 * 128 * 4 + 4, 0, POISON, 77]

    blocks = 40
    arrived, own = np.zeros(1, "i4"), np.full(blocks * 33, 77, "i4")
    module.interleaved(blocks, 33, (arrived, own), cooperative=True)
    np.testing.assert_array_equal(own, np.repeat(1001 + np.arange(blocks), 33))


def test_two_modules_do_not_meet(cpu: Target) -> None:
    source = """__shared__ int big[{n}];
    __global__ void k(int* out) {{ big[threadIdx.x] = {n}; __syncthreads();
                                  out[threadIdx.x] = big[blockDim.x - 1 - threadIdx.x]; }}
    """
    for n in (64, 12000, 64):
        out = np.zeros(64, "i4")
        module = gpuport.load(source.format(n=n), backend="cpu", warp_size=cpu.warp_size)
        module.k(1, 64, (out,))
        assert (out == n).all()
