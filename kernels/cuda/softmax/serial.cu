// softmax.serial: thread 0 of the block does the row, in three sweeps.
// Reads each row three times, writes it once. The baseline that the other variants are measured against.
#include "row.cuh"

namespace gp::softmax {

constexpr int kSerialThreads = 256;  // of which one works

template <typename T>
GP_KERNEL serial_kernel(Rows<T> rows) {
  using A = Accum<T>;
  if (threadIdx.x != 0) return;  // no barrier follows
  for (index_t row = blockIdx.x; row < rows.count(); row += gridDim.x) {
    auto state = MaxSum<A>::empty();
    for (index_t col = 0; col < rows.cols(); ++col) {
      if (rows.takes_part(row, col)) state.max = Max<A>::combine(state.max, rows.value(row, col));
    }
    for (index_t col = 0; col < rows.cols(); ++col) {
      const A x = rows.value(row, col);
      if (rows.takes_part(row, col) && x != -infinity<A>()) state.sum += shifted_exponential(x, state.max);
    }
    Normalizer<T>(state).write_row(rows, row, 0, 1);
  }
}

void serial(const Call& call) {
  visit_elements(call, TeachingTypes{}, [&]<int kWarp, typename T>() {
    launch(serial_kernel<T>, call, blocks_for(call.rows, kSerialThreads), rows_of<T>(call));
  });
}

}  // namespace gp::softmax
