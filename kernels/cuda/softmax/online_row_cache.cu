// softmax.online_row_cache: one block a row, which stays in shared memory between the two sweeps.
// Reads each row once, writes it once: global traffic falls from three sweeps to read in three_pass to one. Rows of up
// to 32 KiB.
#include "row.cuh"

namespace gp::softmax {

constexpr int kCacheThreads = 256;
constexpr std::size_t kCacheBytes = std::size_t(32)
                                    << 10;  // leaves room for the reduction, without asking for more than the default

template <int kWarp, typename T>
GP_KERNEL online_row_cache_kernel(Rows<T> rows) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using A = Accum<T>;
  using Block = BlockReduce<kWarp, kCacheThreads, MergeMaxSum<A>>;
  extern __shared__ __align__(16) unsigned char cache_bytes[];
  __shared__ typename Block::Storage storage;
  T* const cache = reinterpret_cast<T*>(cache_bytes);
  const int thread = threadIdx.x;
  for (index_t row = blockIdx.x; row < rows.count(); row += gridDim.x) {
    auto state = MaxSum<A>::empty();
    // Each thread reads back only what it wrote itself, so the cache needs no barrier of its own.
    for (index_t col = thread; col < rows.cols(); col += kCacheThreads) {
      const T value = rows.in(row, col);
      cache[col] = value;
      if (rows.takes_part(row, col)) state.push(A(value));
    }
    state = Block::all_reduce(state, storage);
    const Normalizer<T> normalizer(state);
    if (rows.op == OpCode::kLogSumExp) {
      if (thread == 0) rows.out(row, 0) = T(normalizer.log_sum_exp());
    } else {
      for (index_t col = thread; col < rows.cols(); col += kCacheThreads) {
        rows.out(row, col) = T(normalizer.result(rows.op, rows.takes_part(row, col), A(cache[col])));
      }
    }
    __syncthreads();  // every warp has read the storage before the next row reuses it
  }
}

void online_row_cache(const Call& call) {
  require_at_most(call, index_t(kCacheBytes / dtype_size(call.in.dtype)));
  visit_elements(call, TeachingTypes{}, [&]<int kWarp, typename T>() {
    Grid grid = blocks_for(call.rows, kCacheThreads);
    grid.shared_bytes = std::size_t(call.cols) * sizeof(T);
    launch(online_row_cache_kernel<kWarp, T>, call, grid, rows_of<T>(call));
  });
}

}  // namespace gp::softmax
