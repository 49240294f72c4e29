"""CUDA code as outsiders write it reaches HIP unchanged: what gpuport_hip.h gives, compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import gpuport
from gpuport.loading import hip
from gpuport.loading.hip_toolchain import find_tools
from gpuport.translate import hipify

ARCHS = ("gfx90a", "gfx1030")  # waves of 64 and of 32 lanes

SUM = """\
__inline__ __device__ float warp_sum(float v) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    v += __shfl_down_sync(0xffffffff, v, offset);
  return __shfl_sync(0xffffffff, v, 0);
}
__global__ void k(const float* x, float* out, double* wide) {
  float v = warp_sum(x[threadIdx.x]);
  v += __shfl_xor_sync(~0u, v, 1) + __shfl_up_sync(-1, v, 1, 16);
  wide[threadIdx.x] = __shfl_xor_sync(0xffffffffffffffffull, wide[threadIdx.x], 2);
  __syncwarp();
  if (threadIdx.x == 0) *out = v;
}
"""
COMPACT = """\
__global__ void k(const int* x, int* out, int* count) {
  int v = x[threadIdx.x], lane = threadIdx.x % 32;
  unsigned taken = __ballot_sync(__activemask(), v > 0);
  if (v > 0) out[__popc(taken & ((1u << lane) - 1))] = v;
  if (lane == 0) *count = __popc(__ballot_sync(0xffffffff, v > 0)) + __ffs(__activemask());
}
"""
VOTES = """\
__global__ void k(const int* x, int* out) {
  int v = x[threadIdx.x], same = 0;
  if (__any_sync(0xffffffff, v > 3) && !__all_sync(0xffffffffu, v)) out[0] = 1;
  out[1] = __uni_sync(0xff, v) + __match_any_sync(0xffffffff, v) + same;
  out[2] = __match_all_sync(0xffffffff, 0.5 * v, &same) != 0;
  out[3] = __reduce_add_sync(0xffffffff, v) + __reduce_max_sync(0xffffffffull, unsigned(v));
  out[4] = __reduce_or_sync(0xf, v) + same;
}
"""
REST = """\
#include <math_constants.h>
__global__ void k(const float4* x, float4* out, long long* least, double* d) {
  __stcs(out, __ldcs(x));
  __stwt(d, 1);
  __stcg(d + 1, __ldcg(d) + __ldca(d) + CUDART_PI + CUDART_INF_F);
  atomicMin(least, 3);
  atomicMax(least + 1, (long long)threadIdx.x);
  if (*least == 7) __trap();
  d[2] = atomicAdd_block((int*)d, 3) + atomicCAS_block((unsigned*)d, 1, 2);
  d[3] = atomicMax_block(least, 4);
  atomicAdd_block((float*)d, 1);
  atomicExch_block((unsigned long long*)d, 1);
  atomicInc_block((unsigned*)d, 9);
  __nanosleep(100);
}
"""
GROUPS = """\
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
struct Pair { int key; double value; bool flag; };
__device__ int any_group(cg::thread_group g, int* x) {
  x[g.thread_rank()] = g.size();
  g.sync();
  return x[g.num_threads() - 1];
}
template <unsigned kSize>
__device__ float tile_sum(cg::thread_block_tile<kSize> tile, float v) {
  return cg::reduce(tile, v, cg::plus<float>()) + cg::reduce(tile, v, cg::greater<float>{}) +
         cg::inclusive_scan(tile, v) + cg::exclusive_scan(tile, v, cg::plus<float>());
}
__global__ void k(uint4* p, Pair* pairs, int* x, float* f, unsigned long long* bits) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(warp);
  cg::thread_block_tile<1, cg::thread_block> alone = cg::tiled_partition<1>(block);
  const unsigned i = block.thread_rank();
  p[i] = warp.shfl_xor(warp.shfl(p[i], 3), 1);
  pairs[i] = tile.shfl_down(warp.shfl_up(pairs[i], 1), 2);
  f[i] = tile_sum<32>(warp, f[i]) + tile_sum<8>(tile, f[i]) + alone.meta_group_rank();
  x[i] = warp.meta_group_rank() + tile.meta_group_size() + warp.any(x[i] > 2) + tile.all(x[i]);
  bits[i] = warp.ballot(x[i]) + tile.match_any(x[i]) + any_group(block, x) + any_group(tile, x);
  if (i % 3 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    p[i] = active.shfl(p[i], 0);
    x[i] = cg::reduce(active, x[i], cg::bit_or<int>()) + cg::reduce(active, x[i], cg::less<int>());
    bits[i] += active.ballot(x[i]) + cg::binary_partition(active, x[i] > 1).size();
    x[i] += cg::tiled_partition(active, 4).thread_rank() + any_group(active, x);
    x[i] += cg::labeled_partition(active, x[i]).meta_group_size();
  }
  any_group(cg::tiled_partition(block, 16), x);
  cg::multi_grid_group all = cg::this_multi_grid();
  if (all.is_valid()) all.sync();
  cg::grid_group grid = cg::this_grid();
  if (grid.is_valid()) cg::sync(grid);
  x[grid.thread_rank()] = grid.size() + grid.num_blocks() + block.group_index().x;
}
"""
EXTREMES = """
template <typename T> __device__ T ullmax(T a, T b) { return a; }
__device__ long long llmin(long long a, long long b) { return b; }
constexpr unsigned kMost = umax(3u, 4u);
static_assert(kMost == 4 && umin(3u, 4u) == 3 && llmax(-1, 2) == 2 && ullmin(1, ~0ull) == 1);
__global__ void k(unsigned* p) { p[threadIdx.x] = umin(255u, p[0]) + llmin(1, 2) + ullmax(1, 2); }
"""
SOURCES = pytest.mark.parametrize(
    "source",
    [SUM, COMPACT, VOTES, REST, GROUPS, EXTREMES],
    ids=["sum", "compact", "votes", "rest", "groups", "extremes"],
)


@SOURCES
def test_compiles_for_waves_of_both_widths(source: str) -> None:
    tools = find_tools()
    if tools.clang is None:
        pytest.skip(f"no HIP compiler is here: {tools.reason}")
    module = gpuport.load(source, backend="hip", archs=ARCHS)
    assert (module.kernels, module.archs) == (("k",), ARCHS)


@SOURCES
def test_compiles_with_the_headers_of_hip_7(source: str, tmp_path: Path) -> None:
    """They have the names, and refuse a mask of 32 bits."""
    headers, bitcode = (
        os.environ.get(name, "") for name in ("GPUPORT_HIP7_INCLUDE", "GPUPORT_AMD_BITCODE")
    )
    if shutil.which("clang++-19") is None or not Path(headers, "hip/hip_version.h").is_file():
        pytest.skip("clang++-19 is not here, or GPUPORT_HIP7_INCLUDE is not set; see .ci/run")
    code = tmp_path / "k.hip"
    code.write_text(hipify(source).text)
    command = ["clang++-19", "-x", "hip", "-std=c++20", "-O1", "--rocm-path=/usr", "-I", headers]
    command += [f"--rocm-device-lib-path={bitcode}", "-idirafter", str(hip.COMPAT)]
    command += ["-include", f"{hip.COMPAT}/gpuport_hip.h", "--cuda-device-only", "-c", str(code)]
    command += ["--offload-arch=gfx942", "--offload-arch=gfx1100", "-o", str(tmp_path / "k.o")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
