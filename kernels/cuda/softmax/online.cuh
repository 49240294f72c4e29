// One block a row, running (max, sum), merged by warp shuffles: the kernel that online_shuffle and grid_stride launch
// differently.
#pragma once

#include "row.cuh"

namespace gp::softmax {

inline constexpr int kOnlineThreads = 256;

template <int kWarp, typename T>
GP_KERNEL online_kernel(Rows<T> rows) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using A = Accum<T>;
  using Block = BlockReduce<kWarp, kOnlineThreads, MergeMaxSum<A>>;
  __shared__ typename Block::Storage storage;
  const int thread = threadIdx.x;
  for (index_t row = blockIdx.x; row < rows.count(); row += gridDim.x) {
    auto state = MaxSum<A>::empty();
    for (index_t col = thread; col < rows.cols(); col += kOnlineThreads) {
      if (rows.takes_part(row, col)) state.push(rows.value(row, col));
    }
    state = Block::all_reduce(state, storage);
    Normalizer<T>(state).write_row(rows, row, thread, kOnlineThreads);
    __syncthreads();  // every warp has read the storage before the next row reuses it
  }
}

}  // namespace gp::softmax
