// softmax.online_vec4: online_shuffle with 128-bit loads and stores.
// Rows whose first element is aligned, of input and output, are read and written 16 bytes at a time; others, and masked
// ones, element by element. Which elements a thread takes is the same either way, so alignment does not change the
// bits. Reads each row twice, writes it once.
#include "row.cuh"

namespace gp::softmax {

constexpr int kVectorThreads = 256;

template <int kWarp, typename T>
GP_KERNEL online_vec4_kernel(Rows<T> rows) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using A = Accum<T>;
  using Block = BlockReduce<kWarp, kVectorThreads, MergeMaxSum<A>>;
  constexpr int kItems = kPackItems<T>;
  __shared__ typename Block::Storage storage;
  const index_t first = index_t(threadIdx.x) * kItems, step = index_t(kVectorThreads) * kItems;
  for (index_t row = blockIdx.x; row < rows.count(); row += gridDim.x) {
    const bool plain = rows.mask.data == nullptr;
    const bool reads_packs = plain && is_packable(&rows.in(row, 0), rows.in.col_stride);
    auto state = MaxSum<A>::empty();
    for (index_t col = first; col < rows.cols(); col += step) {
      if (reads_packs && col + kItems <= rows.cols()) {
        const PackOf<T> pack = load_pack(&rows.in(row, col));
#pragma unroll
        for (int i = 0; i < kItems; ++i) state.push(A(pack.items[i]));
      } else {
        for (index_t c = col; c < col + kItems && c < rows.cols(); ++c) {
          if (rows.takes_part(row, c)) state.push(rows.value(row, c));
        }
      }
    }
    state = Block::all_reduce(state, storage);
    const Normalizer<T> normalizer(state);
    const bool writes_packs =
        reads_packs && rows.op != OpCode::kLogSumExp && is_packable(&rows.out(row, 0), rows.out.col_stride);
    for (index_t col = first; col < rows.cols(); col += step) {
      if (writes_packs && col + kItems <= rows.cols()) {
        PackOf<T> pack = load_pack(&rows.in(row, col));
#pragma unroll
        for (int i = 0; i < kItems; ++i) pack.items[i] = T(normalizer.result(rows.op, true, A(pack.items[i])));
        store_pack(&rows.out(row, col), pack);
      } else {
        const index_t end = col + kItems < rows.cols() ? col + kItems : rows.cols();
        normalizer.write_columns(rows, row, col, 1, end);
      }
    }
    // A row of no columns still has a logsumexp.
    if (rows.cols() == 0 && threadIdx.x == 0) normalizer.write_row(rows, row, 0, 1);
    __syncthreads();  // every warp has read the storage before the next row reuses it
  }
}

void online_vec4(const Call& call) {
  visit_elements(call, TeachingTypes{}, [&]<int kWarp, typename T>() {
    launch(online_vec4_kernel<kWarp, T>, call, blocks_for(call.rows, kVectorThreads), rows_of<T>(call));
  });
}

}  // namespace gp::softmax
