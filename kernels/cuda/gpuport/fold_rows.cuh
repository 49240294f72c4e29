// Every row of a matrix folded to one result by an operator, in one launch whatever the shape.
//
// Short rows: a warp a row. Others: a block a row, or several blocks for each of a few long rows, whose partials are
// folded in index order by the block that finishes last. Which element goes to which thread depends on the shape alone,
// never on alignment, strides or timing, so results repeat bit for bit. Reads each element once, 16 bytes at a time
// where the row allows it. The operator must commute.
#pragma once

#include "block.cuh"
#include "dispatch.hpp"
#include "launch.cuh"
#include "memory.cuh"
#include "ops.cuh"

#include <algorithm>

namespace gp {

// Where the result of each row goes.
template <typename Op>
struct Results {
  typename Op::Result* data;
  index_t stride;
  GP_DEVICE void write(index_t row, const typename Op::State& state) const { data[row * stride] = Op::finish(state); }
};

template <typename Op>
Results<Op> results(const Call& call) {
  return {static_cast<typename Op::Result*>(call.out.data), call.out.row_stride};
}

// Operators that carry where an element stands take its column too.
template <typename Op>
GP_DEVICE typename Op::State lift_at(typename Op::Input x, index_t col) {
  if constexpr (requires { Op::lift(x, col); }) {
    return Op::lift(x, col);
  } else {
    return Op::lift(x);
  }
}

struct FoldPolicy {
  index_t warp_row_cols;   // rows up to this long take a warp each
  index_t block_elements;  // a block takes at least so many elements of a row
  index_t most_splits;     // blocks a row
  index_t most_partials;   // of all rows: one counter a row, and partials that stay in L2
};
inline constexpr FoldPolicy kFold = {1024, 16384, 1024, kCounters};
inline constexpr int kFoldThreads = 256;
// Independent loads of a thread before it folds the first. Two of bytes are 32 elements to unroll, which is enough
// code.
template <typename T>
inline constexpr int kPacksInFlight = sizeof(T) == 1 ? 2 : 4;

// Folds packs first, first + step, ... of the row from `begin` to `end`. The elements of a pack go to one thread in
// either branch, so a row that cannot be read by packs gives the same bits. Packs count from the start of the row.
// Not forced inline: one copy serves both kernels and, on the CPU, both widths.
template <typename Op>
__device__ typename Op::State fold(const View2<const typename Op::Input>& in, index_t row, index_t begin, index_t end,
                                   int first, int step) {
  using Input = typename Op::Input;
  using State = typename Op::State;
  constexpr int kItems = kPackItems<Input>, kPacks = kPacksInFlight<Input>;
  State lanes[kPacks];
#pragma unroll
  for (State& lane : lanes) lane = Op::identity();
  const Input* const start = &in(row, 0);
  const bool packable = is_packable(start, in.col_stride);
  const index_t whole = begin + (end - begin) / kItems * kItems;
  const index_t stride = index_t(step) * kItems;

  index_t col = begin + index_t(first) * kItems;
  for (; col + (kPacks - 1) * stride < whole; col += kPacks * stride) {
    PackOf<Input> packs[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (packable) {
        packs[p] = load_pack(start + col + p * stride);
      } else {
#pragma unroll
        for (int i = 0; i < kItems; ++i) packs[p].items[i] = in(row, col + p * stride + i);
      }
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int i = 0; i < kItems; ++i)
        lanes[p] = Op::combine(lanes[p], lift_at<Op>(packs[p].items[i], col + p * stride + i));
    }
  }
  // What is left is at most a few packs a thread: rolled, so that it adds little code to every operator and type.
#pragma unroll 1
  for (; col < end; col += stride) {
    const index_t stop = col + kItems < end ? col + kItems : end;
#pragma unroll 1
    for (index_t i = col; i < stop; ++i) lanes[0] = Op::combine(lanes[0], lift_at<Op>(in(row, i), i));
  }
  State state = lanes[0];
#pragma unroll
  for (int p = 1; p < kPacks; ++p) state = Op::combine(state, lanes[p]);
  return state;
}

template <int kWarp, typename Op>
GP_KERNEL fold_short_rows_kernel(View2<const typename Op::Input> in, Results<Op> out) {
  using W = Warp<kWarp>;
  W::require();
  for (index_t row = W::global_index(); row < in.rows; row += W::global_count()) {
    const typename Op::State state = W::template all_reduce<Op>(fold<Op>(in, row, 0, in.cols, W::lane(), kWarp));
    if (W::lane() == 0) out.write(row, state);
  }
}

// Block b folds stretch b % splits of row b / splits. With one split it writes the result, else its partial.
template <int kWarp, typename Op>
GP_KERNEL fold_rows_kernel(View2<const typename Op::Input> in, Results<Op> out, index_t splits, index_t stretch,
                           typename Op::State* partials, std::uint32_t* finished) {
  Warp<kWarp>::require();
  using State = typename Op::State;
  using Block = BlockReduce<kWarp, kFoldThreads, Op>;
  __shared__ typename Block::Storage storage;
  __shared__ bool is_last;
  const int thread = threadIdx.x;
  for (index_t item = blockIdx.x; item < in.rows * splits; item += gridDim.x) {
    const index_t row = item / splits, split = item % splits;
    const index_t begin = split * stretch;
    const index_t end = begin + stretch < in.cols ? begin + stretch : in.cols;
    State state = Block::all_reduce(fold<Op>(in, row, begin, end, thread, kFoldThreads), storage);
    if (splits == 1) {
      if (thread == 0) out.write(row, state);
    } else {
      if (thread == 0) {
        partials[item] = state;
        // Publishes the partial above; whoever counts to the end sees every block's.
        is_last = fetch_add(&finished[row], 1u) == std::uint32_t(splits - 1);
      }
      __syncthreads();  // thread 0 has decided; the storage above is free again
      if (is_last) {
        state = Op::identity();
        for (index_t i = thread; i < splits; i += kFoldThreads) {
          state = Op::combine(state, partials[row * splits + i]);
        }
        state = Block::all_reduce(state, storage);
        if (thread == 0) {
          out.write(row, state);
          finished[row] = 0;  // as the next launch expects it
        }
      }
    }
    __syncthreads();  // the storage and is_last are read by all before the next item reuses them
  }
}

template <int kWarp, typename Op>
void fold_rows(const Call& call) {
  const auto in = call.input<const typename Op::Input>();
  if (call.cols <= kFold.warp_row_cols) {
    launch(fold_short_rows_kernel<kWarp, Op>, call, groups_for(call.rows, kWarp, kFoldThreads), in, results<Op>(call));
    return;
  }
  const index_t wanted = std::min(call.cols / kFold.block_elements, kFold.most_splits);
  const index_t splits_at_most = std::max<index_t>(1, std::min(wanted, kFold.most_partials / call.rows));
  // A stretch is a whole number of packs of every type, so that packs line up with the start of the row.
  const index_t granule = kVectorBytes;
  const index_t stretch = ((call.cols + splits_at_most - 1) / splits_at_most + granule - 1) / granule * granule;
  const index_t splits = (call.cols + stretch - 1) / stretch;
  const Grid grid = blocks_for(call.rows * splits, kFoldThreads);
  if (splits == 1) {
    launch(fold_rows_kernel<kWarp, Op>, call, grid, in, results<Op>(call), splits, stretch, nullptr, nullptr);
    return;
  }
  const Workspace workspace(call, std::size_t(call.rows * splits) * sizeof(typename Op::State));
  launch(fold_rows_kernel<kWarp, Op>, call, grid, in, results<Op>(call), splits, stretch,
         workspace.data<typename Op::State>(), workspace.counters());
}

}  // namespace gp
