// What the project's own kernels hold between their steps, for tests/layer/test_states.py.
// The kernels are included as they are; a watch that copies is put where they have one that does nothing.
#include <reduce/hierarchical.cu>
#include <scan/blelloch.cu>
#include <scan/hierarchical.cu>
#include <softmax/columns.cu>
#include <softmax/split_row.cu>
#include <softmax/three_pass.cu>

#include "harness.hpp"

namespace {

using IntegerSum = Sum<std::int32_t, std::int64_t>;

// The tree of one block of a Blelloch scan after each level: steps[s] = {sweep, width}, trees[s] the whole tree.
template <int kWarp>
GP_KERNEL blelloch_kernel(const std::int32_t* in, int count, std::int64_t* steps, std::int64_t* trees,
                          std::int64_t* exclusive) {
  using Block = scan::Blelloch<kWarp>;
  __shared__ typename Block::template Storage<IntegerSum> storage;
  int step = 0;
  Block::template scan<IntegerSum>([&](int i) { return i < count ? std::int64_t(in[i]) : 0; },
                                   [&](int i, std::int64_t before, std::int64_t) {
                                     if (i < count) exclusive[i] = before;
                                   },
                                   storage,
                                   [&](int sweep, int width, const std::int64_t* tree) {
                                     __syncthreads();  // the level is complete
                                     for (int i = threadIdx.x; i < Block::kItems; i += Block::kThreads)
                                       trees[step * Block::kItems + i] = tree[i];
                                     if (threadIdx.x == 0) {
                                       steps[2 * step] = sweep;
                                       steps[2 * step + 1] = width;
                                     }
                                     ++step;
                                     __syncthreads();  // the copy is complete before the next level begins
                                   });
}

// The log of one row, in the order in which the kernel came by: {pass, value}, where the output is a value a column.
GP_KERNEL three_pass_states_kernel(softmax::Rows<double> rows, double* log, int* entries) {
  __shared__ double scratch[softmax::kTreeThreads];
  softmax::three_pass_row(rows, 0, scratch, [&](softmax::Pass pass, const MaxSum<double>& state) {
    __syncthreads();  // the pass is complete in every thread
    if (threadIdx.x == 0) {
      const auto note = [&](double value) {
        log[2 * *entries] = double(int(pass));
        log[2 * *entries + 1] = value;
        ++*entries;
      };
      if (pass == softmax::Pass::kMaximum) note(state.max);
      if (pass == softmax::Pass::kShiftedSum) note(state.sum);
      for (index_t col = 0; pass == softmax::Pass::kOutput && col < rows.cols(); ++col) note(rows.out(0, col));
    }
    __syncthreads();  // noted before the next pass begins
  });
}

template <typename T>
View2<T> one_row(T* data, index_t cols) {
  return {data, 1, cols, cols, 1};
}

}  // namespace

LAYER_API int layer_blelloch(int device, const std::int32_t* in, int count, std::int64_t* steps, int most_steps,
                             std::int64_t* trees, std::int64_t* exclusive) {
  return guarded([&] {
    const Call call = call_on(device);
    constexpr std::size_t kItems = scan::Blelloch<32>::kItems;
    const Copy<std::int32_t> source(in, std::size_t(count), call.stream);
    const Copy<std::int64_t> names(steps, 2 * std::size_t(most_steps), call.stream),
        levels(nullptr, kItems * std::size_t(most_steps), call.stream),
        result(exclusive, std::size_t(count), call.stream);
    for_width(call, [&]<int kWarp>() {
      launch(blelloch_kernel<kWarp>, call, Grid{1, scan::Blelloch<kWarp>::kThreads}, source.data(), count, names.data(),
             levels.data(), result.data());
    });
    names.read(steps);
    levels.read(trees);
    result.read(exclusive);
  });
}

// Totals of the blocks as the first launch leaves them, then the offsets that the levels above make of them.
LAYER_API int layer_block_totals(int device, const std::int32_t* in, int count, int blelloch, std::int64_t* totals,
                                 std::int64_t* offsets, std::int64_t* exclusive) {
  return guarded([&] {
    const Call call = call_on(device);
    const Copy<std::int32_t> source(in, std::size_t(count), call.stream);
    const Copy<std::int64_t> result(nullptr, std::size_t(count), call.stream);
    for_width(call, [&]<int kWarp>() {
      const auto run = [&]<typename Block>() {
        const index_t blocks = (count + Block::kItems - 1) / Block::kItems;
        const Copy<std::int64_t> scratch(nullptr, std::size_t(scan::total_count<Block>(count)), call.stream);
        const auto input = one_row<const std::int32_t>(source.data(), count);
        const auto output = one_row<std::int64_t>(result.data(), count);
        launch(scan::scan_blocks_kernel<kWarp, IntegerSum, Block, std::int32_t, std::int64_t>, call,
               blocks_for(blocks, Block::kThreads), input, output, one_row<std::int64_t>(scratch.data(), blocks),
               false);
        scratch.read(totals);
        scan::scan_levels<kWarp, IntegerSum, Block, std::int32_t, std::int64_t>(call, input, output, scratch.data(),
                                                                                false);
        scratch.read(offsets);
        result.read(exclusive);
      };
      if (blelloch != 0) {
        run.template operator()<scan::Blelloch<kWarp>>();
      } else {
        run.template operator()<scan::WarpScans<kWarp>>();
      }
    });
  });
}

// What the first pass of a hierarchical sum leaves: one partial for each 512 elements.
LAYER_API int layer_partials(int device, const std::int32_t* in, int count, std::int64_t* partials) {
  return guarded([&] {
    const Call call = call_on(device);
    const index_t blocks = (count + reduce::kPassItems - 1) / reduce::kPassItems;
    const Copy<std::int32_t> source(in, std::size_t(count), call.stream);
    const Copy<std::int64_t> result(nullptr, std::size_t(blocks), call.stream);
    for_width(call, [&]<int kWarp>() {
      launch(reduce::hierarchical_kernel<kWarp, IntegerSum, true, std::int32_t>, call,
             blocks_for(blocks, reduce::kPassThreads), one_row<const std::int32_t>(source.data(), count),
             one_row<std::int64_t>(result.data(), blocks), Results<IntegerSum>{result.data(), 1, {}});
    });
    result.read(partials);
  });
}

LAYER_API int layer_three_pass(int device, const double* in, int count, double* log, int* entries) {
  return guarded([&] {
    const Call call = call_on(device);
    const Copy<double> source(in, std::size_t(count), call.stream), result(nullptr, std::size_t(count), call.stream),
        notes(log, 2 * std::size_t(count + 2), call.stream);
    const Copy<int> noted(entries, 1, call.stream);
    const softmax::Rows<double> rows{
        one_row<const double>(source.data(), count), one_row<double>(result.data(), count), {}, OpCode::kSoftmax};
    launch(three_pass_states_kernel, call, Grid{1, softmax::kTreeThreads}, rows, notes.data(), noted.data());
    notes.read(log);
    noted.read(entries);
  });
}

// The (max, sum) of each stretch of a row that split_row gives to several blocks.
LAYER_API int layer_split_states(int device, const double* in, int count, int stretch, double* states) {
  return guarded([&] {
    const Call call = call_on(device);
    const index_t splits = (count + stretch - 1) / stretch;
    const Copy<double> source(in, std::size_t(count), call.stream);
    const Copy<MaxSum<double>> result(nullptr, std::size_t(splits), call.stream);
    const softmax::Rows<double> rows{one_row<const double>(source.data(), count), {}, {}, OpCode::kSoftmax};
    for_width(call, [&]<int kWarp>() {
      launch(softmax::split_states_kernel<kWarp, double>, call, blocks_for(splits, softmax::kSplitThreads), rows,
             one_row<MaxSum<double>>(result.data(), splits), index_t(stretch), Overlap{});
    });
    result.read(reinterpret_cast<MaxSum<double>*>(states));
  });
}
