// Every row folded to one state, from left to right, in one launch whatever the shape: for operators that need not
// commute.
//
// Short rows: a warp a row. Others: a block a row, or several blocks for each of a few long rows, whose partials are
// folded in index order by the block that finishes last. At each level the neighbours to the left are combined first,
// and which elements a thread takes depends on the shape alone, so results also repeat bit for bit. Reads each element
// once.
//
// A Source has `rows`, `cols` and fold(row, begin, end), the state of those columns; a Sink has write(row, state).
#pragma once

#include "block.cuh"
#include "launch.cuh"
#include "memory.cuh"

namespace gp {

inline constexpr int kOrderedThreads = 256;
inline constexpr int kOrderedItems = 16;  // neighbours that a thread takes of a tile
inline constexpr index_t kOrderedTile = index_t(kOrderedThreads) * kOrderedItems;
inline constexpr index_t kOrderedWarpCols = 1024;    // rows up to this long take a warp each
inline constexpr index_t kOrderedMostSplits = 1024;  // blocks a row

template <int kWarp, typename Op, typename Source, typename Sink>
GP_KERNEL fold_short_rows_in_order_kernel(Source source, Sink sink) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  const index_t share = (source.cols + kWarp - 1) / kWarp;
  for (index_t row = W::global_index(); row < source.rows; row += W::global_count()) {
    const index_t own = W::lane() * share, begin = own < source.cols ? own : source.cols;
    const index_t end = begin + share < source.cols ? begin + share : source.cols;
    const typename Op::State state = W::template all_reduce<Op>(source.fold(row, begin, end));
    if (W::lane() == 0) sink.write(row, state);
  }
}

// Block b folds stretch b % splits of row b / splits, tile by tile. With one split it writes the result, else its
// partial.
template <int kWarp, typename Op, typename Source, typename Sink>
GP_KERNEL fold_rows_in_order_kernel(Source source, Sink sink, index_t splits, index_t stretch,
                                    typename Op::State* partials, std::uint32_t* finished) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using State = typename Op::State;
  using Block = BlockReduce<kWarp, kOrderedThreads, Op>;
  __shared__ typename Block::Storage storage;
  __shared__ bool is_last;
  const int thread = threadIdx.x;
  for (index_t item = blockIdx.x; item < source.rows * splits; item += gridDim.x) {
    const index_t row = item / splits, first = item % splits * stretch;
    const index_t stop = first + stretch < source.cols ? first + stretch : source.cols;
    State state = Op::identity();
    for (index_t base = first; base < stop; base += kOrderedTile) {
      const index_t own = base + index_t(thread) * kOrderedItems, begin = own < stop ? own : stop;
      const index_t end = begin + kOrderedItems < stop ? begin + kOrderedItems : stop;
      state = Op::combine(state, Block::all_reduce(source.fold(row, begin, end), storage));
      __syncthreads();  // the storage is read by all before the next tile reuses it
    }
    if (splits == 1) {
      if (thread == 0) sink.write(row, state);
      continue;  // the same in every thread
    }
    if (thread == 0) {
      partials[item] = state;
      // Publishes the partial above; whoever counts to the end sees every block's.
      is_last = fetch_add(&finished[row], 1u) == std::uint32_t(splits - 1);
    }
    __syncthreads();  // thread 0 has decided
    if (is_last) {
      const index_t share = (splits + kOrderedThreads - 1) / kOrderedThreads, begin = thread * share;
      state = Op::identity();
      for (index_t i = begin; i < begin + share && i < splits; ++i) {
        state = Op::combine(state, partials[row * splits + i]);
      }
      state = Block::all_reduce(state, storage);
      if (thread == 0) {
        sink.write(row, state);
        finished[row] = 0;  // as the next launch expects it
      }
    }
    __syncthreads();  // the storage and is_last are read by all before the next item reuses them
  }
}

template <int kWarp, typename Op, typename Source, typename Sink>
void fold_in_order(const Call& call, const Source& source, const Sink& sink) {
  if (call.cols <= kOrderedWarpCols) {
    launch(fold_short_rows_in_order_kernel<kWarp, Op, Source, Sink>, call,
           groups_for(call.rows, kWarp, kOrderedThreads), source, sink);
    return;
  }
  const auto kernel = fold_rows_in_order_kernel<kWarp, Op, Source, Sink>;
  const index_t tiles = ceil_div(call.cols, kOrderedTile);
  const index_t most = larger(1, smaller(tiles, smaller(kOrderedMostSplits, kCounters / call.rows)));
  const index_t stretch = ceil_div(tiles, most) * kOrderedTile;
  const index_t splits = ceil_div(call.cols, stretch);
  const Grid grid = blocks_for(call.rows * splits, kOrderedThreads);
  if (splits == 1) {
    launch(kernel, call, grid, source, sink, splits, stretch, nullptr, nullptr);
    return;
  }
  const Workspace workspace(call, std::size_t(call.rows * splits) * sizeof(typename Op::State));
  launch(kernel, call, grid, source, sink, splits, stretch, workspace.data<typename Op::State>(), workspace.counters());
}

}  // namespace gp
