// Many long rows, each read once: tiles are dealt round to resident blocks, and a block runs `lag` tiles ahead with the
// states before it writes a tile. By then the other blocks have published the states of the rest of the row, and the
// wait for them is hidden behind the tiles between.
#pragma once

#include "tile_ring.cuh"

namespace gp::softmax {

// Workers take the tiles; one more warp publishes and gathers states meanwhile. A barrier ends each step: the workers'
// states are there for that warp, its results for the workers.
//
// No two blocks wait for each other: in step j a block has published its tiles up to j - 1 before it waits for the row
// of its tile j + 1 - lag. The row's last tile comes at most `spread` rounds later, with lag >= spread + 2.
template <int kWarp, typename T>
GP_KERNEL __launch_bounds__(kMostWorkers<T> + kWarp, 1)
    stream_rows_kernel(Rows<T> rows, TileShape shape, RingShape ring_shape, int lag,
                       Published<MaxSum<Accum<T>>> published) {
  using W = Warp<kWarp>;
  W::require();
  using A = Accum<T>;
  extern __shared__ __align__(16) unsigned char stage_bytes[];
  __shared__ MaxSum<A> warp_states[2][kMostWorkers<T> / kWarp];
  __shared__ MaxSum<A> row_states[2];
  const TileRing<T> ring(reinterpret_cast<PackOf<T>*>(stage_bytes), shape, ring_shape.workers);
  const int warps = ring_shape.workers / kWarp, stages = ring_shape.stages;
  const bool works = W::index() < warps;
  const int items = int(rows.count()) * shape.tiles, step = gridDim.x;
  const int count = int(blockIdx.x) < items ? (items - int(blockIdx.x) + step - 1) / step : 0;
  const auto item_of = [&](int j) { return int(blockIdx.x) + j * step; };
  const auto fetch = [&](int j) {
    if (j < count) ring.fetch(RowSpan<T>(rows, item_of(j) / shape.tiles), item_of(j) % shape.tiles, j % stages);
    end_copy_group();
  };

  if (works) {
    for (int j = 0; j < stages; ++j) fetch(j);
  }
  for (int j = 0; j < count + lag; ++j) {
    const int late = j - lag;
    if (works) {
      if (j < count) {
        const int item = item_of(j), row = item / shape.tiles, tile = item % shape.tiles;
        const RowSpan<T> span(rows, row);
        wait_for_copies(stages - 1 - (late > 0 ? lag : j));
        const auto values = ring.read(span, tile, j % stages);
        const A edge = ring.edge(span, tile);
        const A max = W::template all_reduce<Greatest<A>>(Greatest<A>::combine(values.greatest(), edge));
        const A pivot = pivot_of(max);
        const A sum = values.weigh(pivot) + weight_in_sum(edge - pivot);
        const MaxSum<A> state = {max, W::template all_reduce<Sum<A, A>>(sum)};
        if (W::lane() == 0) warp_states[j % 2][W::index()] = state;
      }
      if (late >= 0) {
        const int item = item_of(late), row = item / shape.tiles, tile = item % shape.tiles;
        const MaxSum<A> state = row_states[j % 2];
        if (rows.op != OpCode::kLogSumExp) {
          const PackOf<T>* const source = ring.stage(late % stages);
          const auto packs = [&](int k) { return load_vector(source + k * ring.workers); };
          ring.write(rows, row, RowSpan<T>(rows, row), tile, packs, state);
        } else if (tile == 0 && threadIdx.x == 0) {
          rows.out(row, 0) = T(Normalizer<T>(state).log_sum_exp());
        }
        fetch(late + stages);
      }
    } else {
      if (j > 0 && j <= count) {
        auto state = W::lane() < warps ? warp_states[(j - 1) % 2][W::lane()] : MaxSum<A>::empty();
        state = merge_lanes<W>(state);
        if (W::lane() == 0) published.publish(item_of(j - 1), state);
      }
      if (late + 1 >= 0 && late + 1 < count) {
        const int row = item_of(late + 1) / shape.tiles;
        const MaxSum<A> state = gather<kWarp>(published, index_t(row) * shape.tiles, shape.tiles);
        if (W::lane() == 0) row_states[(j + 1) % 2] = state;
      }
    }
    __syncthreads();  // the states of this step are there, those of the last are read
  }
}

}  // namespace gp::softmax
