// A few rows so long that the blocks have to read all of one before they can write any of it: as much of it as fits
// stays on the chip, in registers and in shared memory, and the rest is read again, latest first, while the L2 cache
// may still hold it.
#pragma once

#include "tile_ring.cuh"

namespace gp::softmax {

// kHeldTiles of a block stay in registers. All blocks take one row after the other; tile b + w x grid of a row is the
// w-th of block b.
template <int kWarp, typename T, int kHeldTiles>
GP_KERNEL __launch_bounds__(kMostThreads<T>, 1)
    resident_rows_kernel(Rows<T> rows, TileShape shape, RingShape ring_shape, Published<MaxSum<Accum<T>>> published) {
  using W = Warp<kWarp>;
  W::require();
  using A = Accum<T>;
  extern __shared__ __align__(16) unsigned char stage_bytes[];
  __shared__ MaxSum<A> warp_states[kMostThreads<T> / kWarp];
  __shared__ MaxSum<A> row_state;
  const TileRing<T> ring(reinterpret_cast<PackOf<T>*>(stage_bytes), shape, ring_shape.workers);
  const int warps = ring_shape.workers / kWarp, stages = ring_shape.stages;
  const int blocks = gridDim.x;
  const int count = int(blockIdx.x) < shape.tiles ? (shape.tiles - int(blockIdx.x) + blocks - 1) / blocks : 0;
  const int publishers = blocks < shape.tiles ? blocks : shape.tiles;
  const auto tile_of = [&](int w) { return int(blockIdx.x) + w * blocks; };
  const auto stage_of = [&](int w) { return (w - kHeldTiles) % stages; };

  for (index_t row = 0; row < rows.count(); ++row) {
    const RowSpan<T> span = ring.span_of(rows, row);
    const auto fetch = [&](int w, bool read_again) {
      if (w >= kHeldTiles && w < count) ring.fetch(span, tile_of(w), stage_of(w), read_again);
      end_copy_group();
    };
    const auto leaves_chip = [&](int w) { return w + stages < count; };
    for (int w = kHeldTiles; w < kHeldTiles + stages; ++w) fetch(w, leaves_chip(w));
    RowPacks<T, kTilePacks> held[kHeldTiles];
#pragma unroll
    for (int w = 0; w < kHeldTiles; ++w) {
#pragma unroll
      for (int k = 0; k < kTilePacks; ++k) {
        held[w].set(k, span.load(ring.pack_of(w < count ? tile_of(w) : shape.tiles, k)));
      }
    }

    auto state = MaxSum<A>::empty();
    const auto take = [&](int w, RowPacks<T, kTilePacks>& values) {
      const A edge = w < count ? ring.edge(span, tile_of(w)) : -infinity<A>();
      const A max = Greatest<A>::combine(state.max, Greatest<A>::combine(values.greatest(), edge));
      const A pivot = pivot_of(max);
      const A before = state.sum * weight_in_sum(state.max - pivot);
      state = {max, before + (values.weigh(pivot) + weight_in_sum(edge - pivot))};
    };
#pragma unroll
    for (int w = 0; w < kHeldTiles; ++w) take(w, held[w]);
    for (int w = kHeldTiles; w < count; ++w) {
      wait_for_copies(stages - 1);
      auto values = ring.read(span, tile_of(w), stage_of(w));
      take(w, values);
      fetch(w + stages, leaves_chip(w + stages));
    }

    state = merge_lanes<W>(state);
    if (W::lane() == 0) warp_states[W::index()] = state;
    __syncthreads();  // the states of every warp are there
    if (W::index() == 0) {
      state = merge_lanes<W>(W::lane() < warps ? warp_states[W::lane()] : MaxSum<A>::empty());
      if (W::lane() == 0 && count > 0) published.publish(row * publishers + blockIdx.x, state);
      state = gather<kWarp>(published, row * publishers, publishers);
      if (W::lane() == 0) row_state = state;
    }
    __syncthreads();  // the row's state is there; the states of the warps are free for the next row
    state = row_state;
    if (rows.op == OpCode::kLogSumExp) {
      if (blockIdx.x == 0 && threadIdx.x == 0) rows.out(row, 0) = T(Normalizer<T>(state).log_sum_exp());
      continue;
    }
    for (int w = count - 1; w >= kHeldTiles; --w) {
      wait_for_copies(stages - 1);
      ring.write(rows, row, span, tile_of(w), [&](int k) { return ring.staged(stage_of(w), k); }, state);
      fetch(w - stages, false);
    }
#pragma unroll
    for (int w = kHeldTiles - 1; w >= 0; --w) {
      if (w < count) ring.write(rows, row, span, tile_of(w), [&](int k) { return held[w].kept[k]; }, state);
    }
  }
}

}  // namespace gp::softmax
