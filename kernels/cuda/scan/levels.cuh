// A scan of any length from a scan of one block: scan every block, scan the blocks' totals in the same way, add each
// total to the block after it. hillis_steele, blelloch and hierarchical differ in the scan of a block only.
//
// A BlockAlgorithm is a type with kThreads, kItems (elements a block), Storage<Op>, and a device function
//   scan(load, store, storage) -> total
// where load(i) gives element i of the block (the identity past its end), and store(i, exclusive, inclusive) takes each
// result. Reads the input once and the output once more, writes it twice; temporary storage is 1/511 of the row at
// most.
#pragma once

#include "operators.hpp"

namespace gp::scan {

// Elements of the first level are lifted; the levels above scan totals.
template <typename Op, typename In>
GP_DEVICE typename Op::State as_state(const In& x) {
  if constexpr (std::is_same_v<In, typename Op::Input>) {
    return Op::lift(x);
  } else {
    return x;
  }
}

template <int kWarp, typename Op, typename BlockAlgorithm, typename In, typename Out>
GP_KERNEL scan_blocks_kernel(View2<const In> in, View2<Out> out, View2<typename Op::State> totals, bool inclusive) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using State = typename Op::State;
  __shared__ typename BlockAlgorithm::template Storage<Op> storage;
  constexpr int kItems = BlockAlgorithm::kItems;
  for (index_t item = blockIdx.x; item < in.rows * totals.cols; item += gridDim.x) {
    const index_t row = item / totals.cols, block = item % totals.cols, base = block * kItems;
    const State total = BlockAlgorithm::template scan<Op>(
        [&](int i) { return base + i < in.cols ? as_state<Op>(in(row, base + i)) : Op::identity(); },
        [&](int i, State exclusive, State all) {
          if (base + i < in.cols) out(row, base + i) = Out(inclusive ? all : exclusive);
        },
        storage);
    if (threadIdx.x == 0) totals(row, block) = total;
    __syncthreads();  // the storage is read by all before the next block of elements reuses it
  }
}

template <typename Op, typename Out>
GP_KERNEL add_offsets_kernel(View2<Out> out, View2<const typename Op::State> offsets, index_t items) {
  const index_t step = index_t(gridDim.x) * blockDim.x, count = out.rows * out.cols;
  for (index_t i = index_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const index_t row = i / out.cols, col = i % out.cols;
    if (col >= items) out(row, col) = Out(Op::combine(offsets(row, col / items), typename Op::State(out(row, col))));
  }
}

// Scans `in` to `out`. `scratch` holds the totals of this level and of those above.
template <int kWarp, typename Op, typename BlockAlgorithm, typename In, typename Out>
void scan_levels(const Call& call, View2<const In> in, View2<Out> out, typename Op::State* scratch, bool inclusive) {
  using State = typename Op::State;
  constexpr index_t kItems = BlockAlgorithm::kItems;
  const index_t blocks = ceil_div(in.cols, kItems);
  const View2<State> totals{scratch, in.rows, blocks, blocks, 1};
  launch(scan_blocks_kernel<kWarp, Op, BlockAlgorithm, In, Out>, call,
         blocks_for(in.rows * blocks, BlockAlgorithm::kThreads), in, out, totals, inclusive);
  if (blocks <= 1) return;
  const View2<const State> sources{scratch, in.rows, blocks, blocks, 1};
  scan_levels<kWarp, Op, BlockAlgorithm, State, State>(call, sources, totals, scratch + in.rows * blocks, false);
  launch(add_offsets_kernel<Op, Out>, call, groups_for(in.rows * in.cols, 1, BlockAlgorithm::kThreads), out, sources,
         kItems);
}

template <typename BlockAlgorithm>
index_t total_count(index_t cols) {
  index_t count = 0;
  do {
    cols = (cols + BlockAlgorithm::kItems - 1) / BlockAlgorithm::kItems;
    count += cols;
  } while (cols > 1);
  return count;
}

template <template <int> typename BlockAlgorithm>
void run_levels(const Call& original) {
  const Call call = as_sum(original);
  visit(call, TeachingOps{}, [&]<int kWarp, typename Op>() {
    using Block = BlockAlgorithm<kWarp>;
    using State = typename Op::State;
    const Workspace workspace(call, std::size_t(call.rows * total_count<Block>(call.cols)) * sizeof(State));
    scan_levels<kWarp, Op, Block, typename Op::Input, typename Op::Result>(
        call, call.input<const typename Op::Input>(), call.output<typename Op::Result>(), workspace.data<State>(),
        is_inclusive(original));
  });
}

}  // namespace gp::scan
