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

namespace gp {

// Where the result of each row goes, and the operator that says how it is written.
template <typename Op>
struct Results {
  typename Op::Result* data;
  index_t stride;
  Op op;
  GP_DEVICE void write(index_t row, const typename Op::State& state) const { data[row * stride] = op.finish(state); }
};

template <typename Op>
Results<Op> results(const Call& call) {
  return {static_cast<typename Op::Result*>(call.out.data), call.out.row_stride, operator_of<Op>(call)};
}

struct FoldPolicy {
  index_t warp_row_cols;  // rows up to this long take a warp each
  int short_row_threads;  // of their blocks
  int threads;            // of a block otherwise
};
inline constexpr FoldPolicy kFold = {1024, 128, 256};

// How many blocks share the rows, by the bytes that they read. Measured on an H200 with f32 and int32: fewer leave
// memory idle, more take longer to join. Not measured elsewhere, and the same there, so that results are.
struct FoldStep {
  index_t bytes, blocks;
};
inline constexpr FoldStep kFoldSteps[] = {{1 << 19, 32}, {1 << 21, 64}, {1 << 23, 256}};
inline constexpr index_t kFoldMostBlocks = 528;
inline constexpr index_t kFoldLeastBytes = 1 << 13;  // of a block
static_assert(kFoldMostBlocks <= kCounters);         // one counter a row

// Independent loads of a thread before it folds the first. One of bytes is 16 elements to unroll, which is enough
// code; what is carried for more of eight bytes would not fit the registers.
template <typename T>
inline constexpr int kPacksInFlight = sizeof(T) == 1   ? 1
                                      : sizeof(T) == 8 ? 2
                                                       : 4;

// What a thread carries over the packs that it folds. Packs are numbered in the order in which the thread meets them.
template <typename Op>
struct Partial {
  typename Op::State state;

  GP_DEVICE void clear(std::uint32_t) { state = Op::identity(); }
  template <typename Pack>
  GP_DEVICE void add(const Op& op, const Pack& pack, std::uint32_t) {
#pragma unroll
    for (const auto& item : pack.items) state = Op::combine(state, op.lift(item));
  }
  GP_DEVICE void merge(const Partial& other) { state = Op::combine(state, other.state); }
  template <typename Lift>
  GP_DEVICE typename Op::State finish(std::uint32_t, Lift) const {
    return state;
  }
};

// Operators that carry where an element stands: the best value and the first pack that holds it, in which it is looked
// up at the end. So an element costs a comparison, and a pack the rest.
template <typename Op>
  requires requires { typename Op::Value; }
struct Partial<Op> {
  using Value = typename Op::Value;
  typename Value::State best;
  std::uint32_t where;

  // Until a better value comes the first pack holds the best: nothing is worse than the identity.
  GP_DEVICE void clear(std::uint32_t first) {
    best = Value::identity();
    where = first;
  }
  template <typename Pack>
  GP_DEVICE void add(const Op& op, const Pack& pack, std::uint32_t number) {
    auto value = Value::identity();
#pragma unroll
    for (const auto& item : pack.items) value = Value::combine(value, op.lift(item, 0).value);
    if (Value::is_better(value, best)) {  // a tie with an earlier pack changes nothing
      best = value;
      where = number;
    }
  }
  GP_DEVICE void merge(const Partial& other) {
    const bool is_tie = !Value::is_better(best, other.best) && !Value::is_better(other.best, best);
    if (Value::is_better(other.best, best) || (is_tie && other.where < where)) *this = other;
  }
  // `lift` gives element i of a pack, of which there are `count`.
  template <typename Lift>
  GP_DEVICE typename Op::State finish(std::uint32_t count, Lift lift) const {
    typename Op::State state = Op::identity();
    if (where >= count) return state;  // there was no pack
#pragma unroll 1
    for (int i = 0; i < kPackItems<typename Op::Input>; ++i) state = Op::combine(state, lift(where, i));
    return state;
  }
};

// Folds the elements begin .. end of a row: the share of thread `first` of `step`. Packs count from the start of the
// row, and the elements of a pack go to one thread also where they cannot be read at once, so the bits of a result do
// not depend on the alignment of the row. There are fewer than 2^32 packs: that many bytes go to several blocks.
template <typename Op>
GP_DEVICE typename Op::State fold(const View2<const typename Op::Input>& in, const Op& op, index_t row, index_t begin,
                                  index_t end, int first, int step) {
  using Input = typename Op::Input;
  constexpr int kItems = kPackItems<Input>, kPacks = kPacksInFlight<Input>;
  const auto lift = [&](index_t col) {
    if constexpr (requires { op.lift(Input(), col); }) {
      return op.lift(in(row, col), col);
    } else {
      return op.lift(in(row, col));
    }
  };
  Partial<Op> partials[kPacks];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) partials[p].clear(std::uint32_t(first + p * step));
  const index_t first_pack = (begin + kItems - 1) / kItems * kItems;
  const index_t last_pack = end / kItems * kItems;
  const std::uint32_t count = first_pack < last_pack ? std::uint32_t((last_pack - first_pack) / kItems) : 0;
  const Input* const start = &in(row, first_pack);
  const bool packable = is_packable(start, in.col_stride);
  for (std::uint32_t pack = first; pack < count; pack += kPacks * step) {
    PackOf<Input> packs[kPacks];
    if (packable) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (pack + p * step < count) packs[p] = load_pack(start + index_t(pack + p * step) * kItems);
      }
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (pack + p * step < count) partials[p].add(op, packs[p], pack + p * step);
      }
    } else {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (pack + p * step < count) {
#pragma unroll
          for (int i = 0; i < kItems; ++i) {
            packs[0].items[i] = start[(index_t(pack + p * step) * kItems + i) * in.col_stride];
          }
          partials[p].add(op, packs[0], pack + p * step);
        }
        compiler_fence();  // one pack at a time: the addresses of all would not fit the registers
      }
    }
  }
#pragma unroll
  for (int p = 1; p < kPacks; ++p) partials[0].merge(partials[p]);
  typename Op::State state = partials[0].finish(
      count, [&](std::uint32_t pack, int i) { return lift(first_pack + index_t(pack) * kItems + i); });
  // What lies outside of whole packs at either end, fewer than two packs: an element a thread.
  const index_t head = first_pack < end ? first_pack : end, tail = last_pack > head ? last_pack : head;
#pragma unroll 1
  for (index_t col = begin + first; col < head; col += step) state = Op::combine(state, lift(col));
#pragma unroll 1
  for (index_t col = tail + first; col < end; col += step) state = Op::combine(state, lift(col));
  return state;
}

template <int kWarp, typename Op>
GP_KERNEL fold_short_rows_kernel(View2<const typename Op::Input> in, Results<Op> out) {
  using W = Warp<kWarp>;
  W::require();
  for (index_t row = W::global_index(); row < in.rows; row += W::global_count()) {
    const typename Op::State state =
        W::template all_reduce<Op>(fold<Op>(in, out.op, row, 0, in.cols, W::lane(), kWarp));
    if (W::lane() == 0) out.write(row, state);
  }
}

// Block b folds stretch b % splits of row b / splits. With one split it writes the result, else its partial.
template <int kWarp, typename Op>
__launch_bounds__(kFold.threads, 4)  // so many blocks keep the memory of a multiprocessor busy
    GP_KERNEL fold_rows_kernel(View2<const typename Op::Input> in, Results<Op> out, index_t splits, index_t stretch,
                               typename Op::State* partials, std::uint32_t* finished) {
  Warp<kWarp>::require();
  using State = typename Op::State;
  using Block = BlockReduce<kWarp, kFold.threads, Op>;
  __shared__ typename Block::Storage storage;
  __shared__ bool is_last;
  const int thread = threadIdx.x;
  for (index_t item = blockIdx.x; item < in.rows * splits; item += gridDim.x) {
    // Divisions of 64 bits take a while, and one row or one block a row is the rule.
    const index_t row = splits == 1 ? item : in.rows == 1 ? 0 : item / splits;
    const index_t split = item - row * splits;
    const index_t begin = split * stretch;
    const index_t end = begin + stretch < in.cols ? begin + stretch : in.cols;
    State state = Block::all_reduce(fold<Op>(in, out.op, row, begin, end, thread, kFold.threads), storage);
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
        for (index_t i = thread; i < splits; i += kFold.threads) {
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

// Blocks that share each row.
template <typename Input>
index_t splits_of_row(const Call& call) {
  const index_t row_bytes = call.cols * index_t(sizeof(Input));
  index_t blocks = kFoldMostBlocks;
  for (const FoldStep& step : kFoldSteps) {
    if (call.rows * row_bytes < step.bytes) {
      blocks = step.blocks;
      break;
    }
  }
  return larger(1, smaller(blocks / call.rows, row_bytes / kFoldLeastBytes));
}

template <int kWarp, typename Op>
void fold_rows(const Call& call, const Results<Op>& out) {
  const auto in = call.input<const typename Op::Input>();
  if (call.cols <= kFold.warp_row_cols) {
    launch(fold_short_rows_kernel<kWarp, Op>, call, groups_for(call.rows, kWarp, kFold.short_row_threads), in, out);
    return;
  }
  const index_t splits_at_most = splits_of_row<typename Op::Input>(call);
  // A stretch is a whole number of packs of every type, so that packs line up with the start of the row.
  const index_t granule = kVectorBytes;
  const index_t stretch = ceil_div(ceil_div(call.cols, splits_at_most), granule) * granule;
  const index_t splits = ceil_div(call.cols, stretch);
  const Grid grid = blocks_for(call.rows * splits, kFold.threads);
  if (splits == 1) {
    launch(fold_rows_kernel<kWarp, Op>, call, grid, in, out, splits, stretch, nullptr, nullptr);
    return;
  }
  const Workspace workspace(call, std::size_t(call.rows * splits) * sizeof(typename Op::State));
  launch(fold_rows_kernel<kWarp, Op>, call, grid, in, out, splits, stretch, workspace.data<typename Op::State>(),
         workspace.counters());
}

}  // namespace gp
