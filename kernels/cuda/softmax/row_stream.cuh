// Many long rows, each read once: the pipeline of gpuport/pipeline.cuh, with states of whole rows in place of a
// look-back.
//
// A tile waits for all tiles of its row. The last of them comes `spread` rounds of the blocks later at most, and every
// block has published so many tiles ahead of the one that it writes: with plan.ahead >= spread no two blocks wait for
// each other.
#pragma once

#include <gpuport/pipeline.cuh>

#include "tile_ring.cuh"

namespace gp::softmax {

// Tiles whose copies are not waited for yet. H200: the fewer, the more of the ring waits for its row; one takes 3 %
// less time than three.
inline constexpr int kOnTheWay = 1;
// Workers of a block. float64 takes twice the registers. H200: 16 warps take up to 3 % less time than 14 in rows of
// 65,536 elements and more.
template <typename T>
inline constexpr int kStreamThreads = sizeof(T) == 8 ? 256 : 512;

// What the warps of a block tell each other about the tile in each stage.
template <typename A, int kWarps>
struct RowExchange {
  MaxSum<A> warps[kMostStages][kWarps], rows[kMostStages];
  Signal summed[kMostStages], gathered[kMostStages];
};

template <int kWarp, typename T, bool kEdges>
struct RowWorker {
  using W = Warp<kWarp>;
  using A = Accum<T>;
  const Rows<T>& rows;
  const TileRing<kWarp, T, kEdges>& ring;
  const CachePolicy policy;
  RowExchange<A, kStreamThreads<T> / kWarp>& exchange;

  GP_DEVICE void fill(const Walk& walk) const {
    ring.fetch(ring.span_of(rows, walk.row), walk.tile, walk.stage, policy);
  }

  GP_DEVICE void sum(const Walk& walk) const {
    const auto span = ring.span_of(rows, walk.row);
    auto values = ring.read(span, walk.tile, walk.stage);
    const A edge = ring.edge(span, ring.edge_col(span, walk.tile));
    const A max = W::template all_reduce<Greatest<A>>(Greatest<A>::combine(values.greatest(), edge));
    const A pivot = pivot_of(max);
    const A sum = W::template all_reduce<Sum<A, A>>(values.weigh(pivot) + weight_in_sum(edge - pivot));
    if (W::lane() == 0) {
      exchange.warps[walk.stage][W::index()] = {max, sum};
      exchange.summed[walk.stage].arrive();
    }
  }

  GP_DEVICE void finish(const Walk& walk) const {
    exchange.gathered[walk.stage].wait(walk.round);
    const MaxSum<A> state = exchange.rows[walk.stage];
    W::sync();  // every lane has read it before one says, in sum(), that the stage may be written again
    if (rows.op == OpCode::kLogSumExp) {
      if (walk.tile == 0 && threadIdx.x == 0) rows.out(walk.row, 0) = T(Normalizer<T>(state).log_sum_exp());
    } else {
      const auto span = ring.span_of(rows, walk.row);
      const index_t edge_col = ring.edge_col(span, walk.tile);
      with_result(rows, state, [&](const auto& result) {
        ring.write_staged(rows, walk.row, span, walk.tile, walk.stage, result);
        if (edge_col >= 0) rows.out(walk.row, edge_col) = T(result(A(span.start[edge_col])));
      });
    }
  }
};

template <int kWarp, typename A, int kWarps>
GP_DEVICE void publish_states(const Plan& plan, Published<MaxSum<A>> published, RowExchange<A, kWarps>& exchange) {
  using W = Warp<kWarp>;
  published.tag = tag_of_service<kWarp>(published.launch, 0);
  Walk walk = plan.begin();
  for (int left = plan.count(); left > 0; --left, plan.advance(walk)) {
    exchange.summed[walk.stage].wait(walk.round);
    const auto of_warp = W::lane() < plan.warps ? exchange.warps[walk.stage][W::lane()] : MaxSum<A>::empty();
    W::sync();  // every lane has read its state before one publishes, after which the stage may be written again
    const MaxSum<A> state = merge_lanes<W>(of_warp);
    if (W::lane() == 0) published.publish(index_t(walk.row) * plan.tiles + walk.tile, state);
  }
}

template <int kWarp, typename A, int kWarps>
GP_DEVICE void gather_rows(const Plan& plan, Published<MaxSum<A>> published, RowExchange<A, kWarps>& exchange) {
  published.tag = tag_of_service<kWarp>(published.launch, 1);
  Walk walk = plan.begin();
  int row = -1;
  MaxSum<A> state;
  for (int left = plan.count(); left > 0; --left, plan.advance(walk)) {
    if (walk.row != row) {
      row = walk.row;
      state = gather<kWarp>(published, index_t(row) * plan.tiles, plan.tiles);
    }
    exchange.summed[walk.stage].wait(walk.round);  // every warp has left the tile that had the stage before
    if (Warp<kWarp>::lane() == 0) {
      exchange.rows[walk.stage] = state;
      exchange.gathered[walk.stage].arrive();
    }
  }
}

template <int kWarp, typename T, bool kEdges>
GP_KERNEL __launch_bounds__(kStreamThreads<T> + kServiceWarps * kWarp, 1)
    stream_rows_kernel(Rows<T> rows, TileShape shape, Plan plan, Published<MaxSum<Accum<T>>> published,
                       Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  extern __shared__ RingBytes ring_bytes[];
  __shared__ RowExchange<Accum<T>, kStreamThreads<T> / kWarp> exchange;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < plan.stages; ++stage) {
      exchange.summed[stage].init(plan.warps);
      exchange.gathered[stage].init(1);
    }
  }
  __syncthreads();  // the signals are ready; from here on each warp waits for what it needs alone
  overlap.admit_next_kernel();
  overlap.await_kernels_ahead();
  if (W::index() == plan.warps) return publish_states<kWarp>(plan, published, exchange);
  if (W::index() == plan.warps + 1) return gather_rows<kWarp>(plan, published, exchange);
  const TileRing<kWarp, T, kEdges> ring(reinterpret_cast<PackOf<T>*>(ring_bytes), shape);
  // Where all is read before much is written, what an earlier kernel left in the L2 cache had better stay there until
  // then: writing it back takes memory's time.
  const bool is_short = plan.items <= index_t(gridDim.x) * plan.stages;
  const CachePolicy policy(is_short ? Reuse::kNever : Reuse::kUnknown);
  run_worker<kOnTheWay>(plan, RowWorker<kWarp, T, kEdges>{rows, ring, policy, exchange});
}

}  // namespace gp::softmax
