// softmax.online_serial: one thread a row, running (max, sum).
// Reads each row twice, writes it once, one element after the other; neighbouring threads are a row apart, so nothing
// coalesces. The step from three sweeps to two, with everything else left as plain as it can be.
#include "row.cuh"

namespace gp::softmax {

constexpr int kOnlineSerialThreads = 64;  // rows per block

template <typename T>
GP_KERNEL online_serial_kernel(Rows<T> rows) {
  using A = Accum<T>;
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t row = index_t(blockIdx.x) * blockDim.x + threadIdx.x; row < rows.count(); row += step) {
    auto state = MaxSum<A>::empty();
    for (index_t col = 0; col < rows.cols(); ++col) {
      if (rows.takes_part(row, col)) state.push(rows.value(row, col));
    }
    Normalizer<T>(state).write_row(rows, row, 0, 1);
  }
}

void online_serial(const Call& call) {
  visit_elements(call, TeachingTypes{}, [&]<int kWarp, typename T>() {
    launch(online_serial_kernel<T>, call, groups_for(call.rows, 1, kOnlineSerialThreads), rows_of<T>(call));
  });
}

}  // namespace gp::softmax
