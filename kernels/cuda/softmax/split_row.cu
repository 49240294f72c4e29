// softmax.split_row: several blocks a row, for few long rows.
// The first launch leaves the (max, sum) of each stretch of each row in temporary storage; in the second, every block
// merges the states of its row in index order and writes its stretch. Reads each row twice, writes it once. The cut
// depends on the shape alone, so results repeat bit for bit.
#include <algorithm>

#include "row.cuh"

namespace gp::softmax {

constexpr int kSplitThreads = 256;
constexpr index_t kSplitCols = 8192;  // a stretch has at least so many columns: a block's worth of work
constexpr index_t kMostSplits = 1024;
constexpr index_t kMostStates = 4096;  // of all rows; with more rows than that one block a row keeps the device busy

template <int kWarp, typename T>
GP_KERNEL split_states_kernel(Rows<T> rows, View2<MaxSum<Accum<T>>> states, index_t stretch) {
  Warp<kWarp>::require();
  using A = Accum<T>;
  using Block = BlockReduce<kWarp, kSplitThreads, MergeMaxSum<A>>;
  __shared__ typename Block::Storage storage;
  for (index_t item = blockIdx.x; item < rows.count() * states.cols; item += gridDim.x) {
    const index_t row = item / states.cols, part = item % states.cols, begin = part * stretch;
    const index_t end = begin + stretch < rows.cols() ? begin + stretch : rows.cols();
    auto state = MaxSum<A>::empty();
    for (index_t col = begin + threadIdx.x; col < end; col += kSplitThreads) {
      if (rows.takes_part(row, col)) state.push(rows.value(row, col));
    }
    state = Block::all_reduce(state, storage);
    if (threadIdx.x == 0) states(row, part) = state;
    __syncthreads();  // every warp has read the storage before the next item reuses it
  }
}

template <int kWarp, typename T>
GP_KERNEL split_row_kernel(Rows<T> rows, View2<const MaxSum<Accum<T>>> states, index_t stretch) {
  Warp<kWarp>::require();
  using A = Accum<T>;
  using Block = BlockReduce<kWarp, kSplitThreads, MergeMaxSum<A>>;
  __shared__ typename Block::Storage storage;
  for (index_t item = blockIdx.x; item < rows.count() * states.cols; item += gridDim.x) {
    const index_t row = item / states.cols, part = item % states.cols, begin = part * stretch;
    const index_t end = begin + stretch < rows.cols() ? begin + stretch : rows.cols();
    auto state = MaxSum<A>::empty();
    for (index_t i = threadIdx.x; i < states.cols; i += kSplitThreads) {
      state = MergeMaxSum<A>::combine(state, states(row, i));
    }
    state = Block::all_reduce(state, storage);
    Normalizer<T>(state).write_columns(rows, row, begin + threadIdx.x, kSplitThreads, end);
    __syncthreads();  // every warp has read the storage before the next item reuses it
  }
}

void split_row(const Call& call) {
  visit_elements(call, EveryType{}, [&]<int kWarp, typename T>() {
    using State = MaxSum<Accum<T>>;
    const index_t wanted = std::min(call.cols / kSplitCols, kMostSplits);
    const index_t most = std::max<index_t>(1, std::min(wanted, kMostStates / call.rows));
    const index_t stretch = std::max<index_t>(1, (call.cols + most - 1) / most);
    const index_t splits = std::max<index_t>(1, (call.cols + stretch - 1) / stretch);
    const Workspace workspace(call, std::size_t(call.rows * splits) * sizeof(State));
    State* const data = workspace.data<State>();
    const Grid grid = blocks_for(call.rows * splits, kSplitThreads);
    launch(split_states_kernel<kWarp, T>, call, grid, rows_of<T>(call),
           View2<State>{data, call.rows, splits, splits, 1}, stretch);
    launch(split_row_kernel<kWarp, T>, call, grid, rows_of<T>(call),
           View2<const State>{data, call.rows, splits, splits, 1}, stretch);
  });
}

}  // namespace gp::softmax
