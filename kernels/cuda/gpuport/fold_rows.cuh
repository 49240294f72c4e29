// Every row of a matrix folded to one result by an operator, in one launch whatever the shape.
//
// Short rows: a warp a row, or as many of its lanes as have something to read. Others: a block a row, or several blocks
// for each of a few long rows, whose partials are folded in index order by the block that finishes last. Rows that
// stand side by side in memory: a lane a row (fold_columns.cuh). The additions and their order depend on the shape
// alone, never on alignment, strides or timing, so results repeat bit for bit. Reads each element once, 16 bytes at a
// time where the row allows it. The operator must commute.
#pragma once

#include "async.cuh"
#include "block.cuh"
#include "fold_columns.cuh"
#include "fold_few.cuh"
#include "fold_stretch.cuh"
#include "launch.cuh"
#include "lookback.cuh"

namespace gp {

struct FoldPolicy {
  index_t warp_row_cols;  // rows up to this long take a warp each, or less
  int short_row_threads;  // of their blocks
  int threads;            // of a block otherwise
};
inline constexpr FoldPolicy kFold = {1024, 128, 512};

// How many blocks share the rows, by the bytes that they read. Measured on an H200 with f32 and int32: fewer leave
// memory idle, more take longer to join. Not measured elsewhere, and the same there, so that results are.
struct FoldStep {
  index_t bytes, blocks;
};
inline constexpr FoldStep kFoldSteps[] = {{1 << 19, 32}, {1 << 21, 64}, {1 << 23, 128}, {1 << 25, 256}};
inline constexpr index_t kFoldMostBlocks = 264;
inline constexpr index_t kFoldLeastBytes = 1 << 13;  // of a block
inline constexpr index_t kFoldMostElements = index_t(1) << 31;
static_assert(kFoldMostBlocks <= kCounters);  // one counter a row

template <int kWarp, typename Op>
GP_KERNEL fold_short_rows_kernel(View2<const typename Op::Input> in, Results<Op> out, PowerOfTwo lanes,
                                 Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  overlap.await_kernels_ahead();
  const int groups = kWarp >> lanes.log2, group = W::lane() >> lanes.log2, lane = W::lane() & (lanes - 1);
  for (index_t first = W::global_index() * groups; first < in.rows; first += W::global_count() * groups) {
    // The whole warp shuffles: a group past the last row takes that once more.
    const index_t own = first + group, row = smaller(own, in.rows - 1);
    const RowStretch<Op, kShortRowPacks<typename Op::Input>> stretch(in, out.op, row, 0, in.cols);
    Partial<Op> sum = stretch.fold(lane, lanes);
#pragma unroll 1
    for (int bit = 1; bit < lanes; bit *= 2) sum.merge(W::shuffle_xor(sum, bit));
    if (lane == 0 && own < in.rows) out.write(own, stretch.finish(sum));
  }
}

// Block b folds stretch b % splits of row b / splits. With one split it writes the result, else it publishes its part,
// and the block of the row that began last merges them all: those that it waits for are running, whatever the order.
// kIsOneRow: of one row that can be read by packs, a block a stretch; the same in less code, of which a short launch is
// mostly made: 0.4 of 4.9 us on an H200.
template <int kWarp, typename Op, bool kIsOneRow>
__launch_bounds__(kFold.threads, 2)  // so many blocks keep the memory of a multiprocessor busy
    GP_KERNEL fold_rows_kernel(View2<const typename Op::Input> in, Results<Op> out, index_t splits, index_t length,
                               Published<Partial<Op>> published, std::uint32_t* begun, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using Whole = Partial<Op, std::uint64_t>;
  using Parts = BlockReduce<kWarp, kFold.threads, MergePartials<Op>>;
  using Wholes = BlockReduce<kWarp, kFold.threads, MergePartials<Op, std::uint64_t>>;
  __shared__ typename Parts::Storage parts;
  __shared__ typename Wholes::Storage wholes;
  __shared__ bool is_last;
  __shared__ BlockTag tag;
  const int thread = threadIdx.x;
  overlap.await_kernels_ahead();
  if constexpr (kIsOneRow) {
    splits = gridDim.x;
    in = {in.data, 1, in.cols, 0, 1};
  }
  const bool is_shared = kIsOneRow || splits != 1;
  if (is_shared && thread == 0) tag.begin(published.launch);

  const auto fold_item = [&](index_t item) {
    // Divisions of 64 bits take a while, and one row or one block a row is the rule.
    const index_t row = !is_shared ? item : kIsOneRow || in.rows == 1 ? 0 : item / splits;
    const index_t begin = (item - row * splits) * length;
    const index_t end = begin + length < in.cols ? begin + length : in.cols;
    // Early, so that the answer comes while the elements do; looked at late, so that they need not wait for it.
    std::uint32_t before = 0;
    if (is_shared && thread == 0) before = fetch_add_relaxed(&begun[row], 1u);
    const RowStretch<Op> stretch(in, out.op, row, begin, end);
    const Partial<Op> part = stretch.template fold<kIsOneRow>(thread, kFold.threads);
    overlap.admit_next_kernel();  // memory has less to do from here on
    if (thread == 0) {
      is_last = before == std::uint32_t(splits - 1);
      if (is_shared && item == blockIdx.x) tag.end(published.launch);
    }
    const Partial<Op> sum = Parts::all_reduce(part, parts);
    if (!is_shared) {
      if (thread == 0) out.write(row, stretch.finish(sum));
      return;
    }
    published.tag = tag.of(published.launch);
    if (thread == 0) published.publish(item, sum);
    if (!is_last) return;  // written before the barrier in all_reduce, as is the tag
    auto whole = Whole::empty();
    for (index_t i = thread; i < splits; i += kFold.threads) {
      whole.merge(Whole::of(published.wait_for(published.at(row * splits + i)), std::uint32_t(i)));
    }
    whole = Wholes::all_reduce(whole, wholes);
    if (thread == 0) {
      const auto index_of = [&](std::uint64_t place) {
        return index_t(place >> 32) * length + index_t(std::uint32_t(place));
      };
      out.write(row, whole.finish(index_of));
      begun[row] = 0;  // as the next launch expects it
    }
  };
  if constexpr (kIsOneRow) {
    fold_item(blockIdx.x);
  } else {
    for (index_t item = blockIdx.x; item < in.rows * splits; item += gridDim.x) {
      fold_item(item);
      __syncthreads();  // the storage and is_last are read by all before the next item reuses them
    }
  }
}

// Elements of which there is a kernel for one row: those of 2 and 4 bytes, where it has been measured and where the
// tests run it.
template <typename Op>
inline constexpr bool kHasOneRowKernel = kTarget != Target::kAmd && sizeof(typename Op::Input) >= 2 &&
                                         sizeof(typename Op::Input) <= 4 && !std::is_same_v<typename Op::State, double>;

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
  const index_t least = call.rows <= kCounters ? ceil_div(call.cols, kFoldMostElements) : 1;
  return larger(least, smaller(blocks / call.rows, row_bytes / kFoldLeastBytes));
}

template <int kWarp, typename Op>
void fold_rows(const Call& call, const Results<Op>& out) {
  const auto in = call.input<const typename Op::Input>();
  if (call.cols <= kFold.warp_row_cols) {
    using Input = typename Op::Input;
    const index_t shares = ceil_div(call.cols, kPackItems<Input> * kShortRowPacks<Input>);
    PowerOfTwo lanes{0};
    while (lanes < kWarp && lanes < shares) ++lanes.log2;
    if constexpr (kTakesColumns<Op>) {
      constexpr int kPartials = RowStretch<Op, kShortRowPacks<Input>>::kPartials;
      if (lanes >= larger(ColumnStretch<Op, 1>::kStreams, 2) && call.stand_side_by_side()) {
        return fold_columns<kWarp, Op>(call, out, call.cols, lanes, kPartials);
      }
      if (call.stand_side_by_side() && are_few_in_vectors<Op>(call)) return fold_few<kWarp, Op>(call, out, lanes);
    }
    launch(fold_short_rows_kernel<kWarp, Op>, call, groups_for(call.rows, lanes, kFold.short_row_threads), in, out,
           lanes, Overlap{});
    return;
  }
  const index_t splits_at_most = splits_of_row<typename Op::Input>(call);
  // A stretch is a whole number of packs of every type, so that packs line up with the start of the row.
  const index_t granule = kVectorBytes;
  const index_t stretch = ceil_div(ceil_div(call.cols, splits_at_most), granule) * granule;
  if constexpr (kTakesColumns<Op>) {
    constexpr PowerOfTwo kShares{std::countr_zero(unsigned(kFold.threads))};
    if (call.stand_side_by_side())
      return fold_columns<kWarp, Op>(call, out, stretch, kShares, RowStretch<Op>::kPartials);
  }
  const index_t splits = ceil_div(call.cols, stretch);
  const Grid grid = blocks_for(call.rows * splits, kFold.threads);
  const auto launch_on = [&](auto kernel, const Published<Partial<Op>>& published, std::uint32_t* begun) {
    launch(kernel, call, grid, in, out, splits, stretch, published, begun, Overlap{});
  };
  if (splits == 1) return launch_on(fold_rows_kernel<kWarp, Op, false>, {}, nullptr);
  using Shared = Published<Partial<Op>>;
  const Workspace workspace(call, 0, std::size_t(call.rows * splits) * Shared::kWords);
  const Shared shared{workspace.tagged(), workspace.tag()};
  if constexpr (kHasOneRowKernel<Op>) {
    const bool is_packed = in.col_stride == 1 && reinterpret_cast<std::uintptr_t>(in.data) % kVectorBytes == 0;
    if (call.rows == 1 && is_packed && grid.blocks == splits) {
      return launch_on(fold_rows_kernel<kWarp, Op, true>, shared, workspace.counters());
    }
  }
  launch_on(fold_rows_kernel<kWarp, Op, false>, shared, workspace.counters());
}

}  // namespace gp
