"""Cooperative groups beyond one tile of a warp, on the CPU at both widths."""

from __future__ import annotations

import numpy as np
import pytest

import gpuport
from gpuport.loading import Module
from gpuport.testing import Target

SOURCE = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

template <typename Group> __device__ void tell(int* out, const Group& group, int value) {
  out += 4 * threadIdx.x;
  out[0] = group.size();
  out[1] = group.thread_rank();
  out[2] = group.meta_group_rank() * 100 + group.meta_group_size();
  out[3] = cg::reduce(group, value, cg::plus<int>());
}
__global__ void binary(const int* v, int* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  tell(out, cg::binary_partition(tile, v[threadIdx.x] % 2 == 1), v[threadIdx.x]);
}
__global__ void labeled(const int* v, int* out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  tell(out, cg::labeled_partition(tile, v[threadIdx.x] % 3), v[threadIdx.x]);
}
__global__ void nested(const int* v, int* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  tell(out, cg::tiled_partition<8>(tile), v[threadIdx.x]);
}
__global__ void odd_lanes(const int* v, int* out) {
  if (threadIdx.x % 2 == 0) return;
  tell(out, cg::tiled_partition(cg::coalesced_threads(), 4), v[threadIdx.x]);
}
// Tiles of several warps.
template <unsigned kSize> __device__ void wide(const int* v, int* out, cg::thread_block block) {
  auto tile = cg::tiled_partition<kSize>(block);
  tell(out, tile, v[threadIdx.x]);
  out += 4 * blockDim.x + threadIdx.x;
  out[0] = cg::inclusive_scan(tile, v[threadIdx.x]);
  out[blockDim.x] = cg::exclusive_scan(tile, v[threadIdx.x], cg::plus<int>());
  out[2 * blockDim.x] = tile.any(v[threadIdx.x] == 5) + 2 * tile.all(v[threadIdx.x] >= 0);
  out[3 * blockDim.x] = tile.shfl(v[threadIdx.x], 3);
}
__global__ void wide_64(const int* v, int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  wide<64>(v, out, cg::this_thread_block(memory));
}
__global__ void wide_128(const int* v, int* out) { wide<128>(v, out, cg::this_thread_block()); }
__global__ void narrow_16(const int* v, int* out) { wide<16>(v, out, cg::this_thread_block()); }

// As in a well-known article: the kind of the group is not known when it is compiled.
__device__ int sum_of(cg::thread_group g, int* scratch, int value) {
  const int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    scratch[lane] = value;
    g.sync();
    if (lane < i) value += scratch[lane + i];
    g.sync();
  }
  return value;
}
__global__ void dynamic(const int* v, int* out) {
  __shared__ int scratch[128];
  auto block = cg::this_thread_block();
  cg::thread_group tile = cg::tiled_partition(block, 8), half = cg::tiled_partition(tile, 4);
  const int all = sum_of(block, scratch, v[threadIdx.x]);
  cg::sync(block);
  const int of_tile = sum_of(tile, scratch + threadIdx.x / 8 * 8, v[threadIdx.x]);
  cg::sync(block);
  const int of_half = sum_of(half, scratch + threadIdx.x / 4 * 4, v[threadIdx.x]);
  if (block.thread_rank() == 0) out[0] = all;
  if (tile.thread_rank() == 0) out[1 + threadIdx.x / 8] = of_tile;
  if (half.thread_rank() == 0) out[17 + threadIdx.x / 4] = of_half;
}
__global__ void copies(const int* v, int* out) {
  __shared__ int all[96];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, all, v, sizeof all);
  cg::wait(block);
  out[threadIdx.x] = all[95 - threadIdx.x];
  cg::sync(block);
  cg::memcpy_async(block, all, 10, v + 5, 7);
  cg::wait(block);
  if (threadIdx.x == 0) out[96] = all[6] * 1000 + all[7];
  int once = -1;
  cg::invoke_one(block, [&](int w) { once = w; }, 4);
  auto tile = cg::tiled_partition<4>(block);
  out[97 + threadIdx.x] = cg::invoke_one_broadcast(tile, [&] { return int(threadIdx.x); }) + once;
}
__global__ void alone(int* p) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  p[threadIdx.x] = tile.shfl_up(p[threadIdx.x], 1);
}
"""
V = np.random.default_rng(11).integers(0, 50, 256).astype("i4")


@pytest.fixture
def module(cpu: Target) -> Module:
    return gpuport.load(SOURCE, backend="cpu", warp_size=cpu.warp_size)


def told(parts: list[list[int]], metas: list[int]) -> np.ndarray:
    want = np.full((256, 4), 77, "i4")
    for part, meta in zip(parts, metas, strict=True):
        for rank, thread in enumerate(part):
            want[thread] = [len(part), rank, meta, int(V[part].sum())]
    return want


def test_partitions(module: Module) -> None:
    threads = np.arange(256)
    by_parity = [
        (threads[(threads // 32 == t) & (p == V % 2)].tolist(), 100 * p + 2)
        for t in range(8)
        for p in (0, 1)
    ]
    by_label = []
    for t in range(16):
        labels = list(dict.fromkeys((V[16 * t : 16 * t + 16] % 3).tolist()))
        for rank, label in enumerate(labels):
            part = threads[(threads // 16 == t) & (label == V % 3)].tolist()
            by_label.append((part, 100 * rank + len(labels)))
    eights = [(list(range(i, i + 8)), i // 8 % 4 * 100 + 4) for i in range(0, 256, 8)]
    for kernel, parts in (("binary", by_parity), ("labeled", by_label), ("nested", eights)):
        out = np.full((256, 4), 77, "i4")
        module[kernel](1, 256, (V, out))
        np.testing.assert_array_equal(out, told(*zip(*parts, strict=True)), kernel)
    width = module.warp_size
    odd = [
        (list(range(i + 1, i + 8, 2)), i % width // 8 * 100 + width // 8) for i in range(0, 256, 8)
    ]
    out = np.full((256, 4), 77, "i4")
    module.odd_lanes(1, 256, (V, out))
    np.testing.assert_array_equal(out, told(*zip(*odd, strict=True)))


@pytest.mark.parametrize(
    ("kernel", "size"), [("narrow_16", 16), ("wide_64", 64), ("wide_128", 128)]
)
def test_tiles_of_any_size(module: Module, kernel: str, size: int) -> None:
    out = np.full(256 * 8 + 1, 77, "i4")
    module[kernel](1, 256, (V, out))
    tiles = V.reshape(-1, size)
    parts = [list(range(i, i + size)) for i in range(0, 256, size)]
    metas = [100 * i + 256 // size for i in range(256 // size)]
    np.testing.assert_array_equal(out[:1024].reshape(256, 4), told(parts, metas))
    sums = tiles.cumsum(axis=1)
    rows = out[1024:2048].reshape(4, 256)
    np.testing.assert_array_equal(rows[0], sums.ravel())
    np.testing.assert_array_equal(rows[1], (sums - tiles).ravel())
    np.testing.assert_array_equal(rows[2], np.repeat((tiles == 5).any(axis=1) + 2, size))
    np.testing.assert_array_equal(rows[3], np.repeat(tiles[:, 3], size))
    assert out[2048] == 77


def test_groups_whose_kind_is_not_known(module: Module) -> None:
    out = np.full(50, 77, "i4")
    module.dynamic(1, 128, (V, out))
    v = V[:128]
    assert out[0] == v.sum()
    np.testing.assert_array_equal(out[1:17], v.reshape(-1, 8).sum(axis=1))
    np.testing.assert_array_equal(out[17:49], v.reshape(-1, 4).sum(axis=1))


def test_copies_of_a_group_and_one_that_acts(module: Module) -> None:
    out = np.full(97 + 96, 77, "i4")
    module.copies(1, 96, (V, out))
    np.testing.assert_array_equal(out[:96], V[:96][::-1])
    assert out[96] == V[11] * 1000 + V[7]
    once = np.full(96, -1)
    once[0] = 4
    np.testing.assert_array_equal(out[97:], np.arange(96) // 4 * 4 + once)


def test_a_block_that_is_no_multiple_of_its_tile(module: Module) -> None:
    p = np.arange(256, dtype="i4")
    words = (
        r"a tile at <source>:\d+: the block's 120 threads are no multiple of the tile's 32, "
        "so the last tile has only 24; "
    )
    with pytest.raises(gpuport.LaunchError, match=words):
        module.alone(1, 120, (p,))
    with pytest.raises(gpuport.LaunchError, match="it has 32 threads, and the block only 20"):
        module.alone(1, 20, (p,))
    out = np.zeros(3000, "i4")
    with pytest.raises(
        gpuport.LaunchError, match=r"the block's 96 threads are no multiple of .* 64"
    ):
        module.wide_64(1, 96, (p, out))


@pytest.mark.parametrize("kind", ["int", "unsigned", "long long"])
def test_masks_of_32_bits_name_32_lanes(cpu: Target, kind: str) -> None:
    source = f"""__global__ void k(const int* in, int* out) {{
      {kind} mask = 0xffffffff;
      if (threadIdx.x < 32) out[threadIdx.x] = __any_sync(mask, in[threadIdx.x]);
    }}
    __global__ void all(const int* in, int* out) {{
      const {kind} mask = -1;
      out[threadIdx.x] = __any_sync(mask, in[threadIdx.x]) + __any_sync(-1, 0);
    }}
    """
    module = gpuport.load(source, backend="cpu", warp_size=cpu.warp_size)
    given, out = np.zeros(64, "i4"), np.full(64, 77, "i4")
    given[5] = 1
    module.k(1, 64, (given, out))
    assert out.tolist() == [1] * 32 + [77] * 32
    if cpu.warp_size == 64 and kind != "long long":
        with pytest.raises(gpuport.LaunchError, match="names lanes 0-31 and not the calling lane"):
            module.all(1, 64, (given, out))
    else:
        module.all(1, 64, (given, out))
        assert out[:32].tolist() == [1] * 32
