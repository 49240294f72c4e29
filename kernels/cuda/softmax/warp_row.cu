// softmax.warp_row: one warp a row, running (max, sum).
// Reads each row twice, writes it once. Every lane holds the row's state; no block barrier. The default for short rows.
#include "row.cuh"

namespace gp::softmax {

constexpr int kWarpRowThreads = 128;  // 4 rows of 32 lanes or 2 of 64 in a block

template <int kWarp, typename T>
GP_KERNEL warp_row_kernel(Rows<T> rows) {
  using W = Warp<kWarp>;
  W::require();
  using A = Accum<T>;
  for (index_t row = W::global_index(); row < rows.count(); row += W::global_count()) {
    auto state = MaxSum<A>::empty();
    for (index_t col = W::lane(); col < rows.cols(); col += kWarp) {
      if (rows.takes_part(row, col)) state.push(rows.value(row, col));
    }
    state = W::template all_reduce<MergeMaxSum<A>>(state);
    Normalizer<T>(state).write_row(rows, row, W::lane(), kWarp);
  }
}

void warp_row(const Call& call) {
  visit_elements(call, EveryType{}, [&]<int kWarp, typename T>() {
    launch(warp_row_kernel<kWarp, T>, call, groups_for(call.rows, kWarp, kWarpRowThreads), rows_of<T>(call));
  });
}

}  // namespace gp::softmax
