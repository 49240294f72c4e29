// A few rows so long that the blocks have to read all of one before they can write any of it: as much of it as fits
// stays on the chip, in registers and in shared memory, and the rest is read again, latest first, while the L2 cache
// may still hold it.
#pragma once

#include "tile_ring.cuh"

namespace gp::softmax {

// Stages that tiles pass through. H200: three suffice to keep memory busy.
inline constexpr int kPassing = 3;
// Threads of a block: 128 registers each. Tiles of 28 KiB, because of 32 KiB 2^24 elements leave half of the blocks of
// an H200 one tile more than the others, and take 4 % longer.
inline constexpr int kResidentThreads = 448;

// All blocks take one row after the other; tile b + w x grid of a row is the w-th of block b. Of those the first
// stay in shared memory and the next kHeldTiles in registers. The others pass through the last stages, where the
// last of them stay, too. What is read again comes last: the L2 cache has to make room for it by writing back what an
// earlier kernel left there, and does so while the blocks tell each other their states.
template <int kWarp, typename T, int kHeldTiles>
GP_KERNEL __launch_bounds__(kResidentThreads, 1)
    resident_rows_kernel(Rows<T> rows, TileShape shape, RingShape ring_shape, Published<MaxSum<Accum<T>>> published,
                         Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  using A = Accum<T>;
  extern __shared__ __align__(16) unsigned char stage_bytes[];
  __shared__ MaxSum<A> warp_states[kResidentThreads / kWarp];
  __shared__ MaxSum<A> row_state;
  __shared__ BlockTag tag;
  const TileRing<kWarp, T> ring(reinterpret_cast<PackOf<T>*>(stage_bytes), shape);
  const int warps = ring_shape.workers / kWarp, stages = ring_shape.stages, kept = stages - kPassing;
  const int blocks = gridDim.x;
  const int count = int(blockIdx.x) < shape.tiles ? (shape.tiles - int(blockIdx.x) + blocks - 1) / blocks : 0;
  const int publishers = blocks < shape.tiles ? blocks : shape.tiles;
  const bool has_first = blockIdx.x == 0, has_last = (shape.tiles - 1) % blocks == int(blockIdx.x);
  const int first_passing = kept + kHeldTiles;
  const auto tile_of = [&](int w) { return int(blockIdx.x) + w * blocks; };

  overlap.admit_next_kernel();
  overlap.await_kernels_ahead();
  if (threadIdx.x == 0) tag.begin(published.launch);
  for (index_t row = 0; row < rows.count(); ++row) {
    const RowSpan<T> span = ring.span_of(rows, row);
    // A group of copies, empty where there is no tile.
    const auto fetch = [&](int w, int stage, Reuse reuse) {
      if (w < count) ring.fetch(span, tile_of(w), stage, CachePolicy(reuse));
      end_copy_group();
    };
    const auto pass = [&](int w, int stage) { fetch(w, stage, w + kPassing < count ? Reuse::kSoon : Reuse::kNever); };
    for (int w = 0; w < kept; ++w) fetch(w, w, Reuse::kNever);
    RowPacks<T, kTilePacks> held[kHeldTiles];
#pragma unroll
    for (int h = 0; h < kHeldTiles; ++h) {
      const int tile = kept + h < count ? tile_of(kept + h) : shape.tiles;
#pragma unroll
      for (int k = 0; k < kTilePacks; ++k) held[h].set(k, span.load(ring.pack_of(tile, k), CachePolicy(Reuse::kNever)));
    }
    for (int i = 0; i < kPassing; ++i) pass(first_passing + i, kept + i);

    const index_t edge_col = ring.edge_col(span, has_first, has_last);
    const A edge = ring.edge(span, edge_col);
    MaxSum<A> state = {edge, edge_col < 0 ? A(0) : weight_in_sum(edge - pivot_of(edge))};
    const auto take = [&](RowPacks<T, kTilePacks>& values) {
      const A max = Greatest<A>::combine(state.max, values.greatest());
      const A pivot = pivot_of(max);
      const A before = state.sum * weight_in_sum(state.max - pivot);
      state = {max, before + values.weigh(pivot)};
    };
    const auto take_staged = [&](int w, int stage) {
      auto values = ring.read(span, tile_of(w), stage);
      take(values);
    };
    for (int w = 0; w < kept && w < count; ++w) {
      wait_for_copies(kept - 1 - w + kPassing);
      take_staged(w, w);
    }
#pragma unroll
    for (RowPacks<T, kTilePacks>& values : held) take(values);
    int stage = kept;
    for (int w = first_passing; w < count; ++w) {
      wait_for_copies<kPassing - 1>();
      take_staged(w, stage);
      pass(w + kPassing, stage);
      if (++stage == stages) stage = kept;
    }

    state = merge_lanes<W>(state);
    if (W::lane() == 0) warp_states[W::index()] = state;
    if (threadIdx.x == 0 && row == 0) tag.end(published.launch);
    __syncthreads();  // the states of every warp are there, and the tag
    if (W::index() == 0) {
      published.tag = tag.of(published.launch);
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
    const RowResult<T> result(rows.op, state);
    const auto write = [&](int w, int stage) { ring.write_staged(rows, row, span, tile_of(w), stage, result); };
    // The tiles that have passed, the latest first, and in turns with them those that were kept: some are written
    // while others are on their way again.
    int passed = count - 1, next = 0;
    const int end = kept < count ? kept : count;
    while (passed >= first_passing || next < end) {
      if (passed >= first_passing) {
        stage = (stage > kept ? stage : stages) - 1;
        wait_for_copies<kPassing - 1>();
        write(passed, stage);
        fetch(passed - kPassing >= first_passing ? passed - kPassing : count, stage, Reuse::kNever);
        --passed;
      }
      if (next < end) {
        write(next, next);
        ++next;
      }
    }
#pragma unroll
    for (int h = 0; h < kHeldTiles; ++h) {
      const int w = kept + h;
      if (w < count) ring.write_held(rows, row, span, tile_of(w), held[h], result);
    }
    if (edge_col >= 0) rows.out(row, edge_col) = T(result(A(span.start[edge_col])));
    wait_for_copies<0>();
  }
}

}  // namespace gp::softmax
