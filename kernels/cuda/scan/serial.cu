// scan.serial: one thread a row, from left to right.
// Reads and writes each element once. The baseline for right answers.
#include "operators.hpp"

namespace gp::scan {

constexpr int kSerialThreads = 64;  // rows per block

template <typename Op>
GP_KERNEL serial_kernel(View2<const typename Op::Input> in, View2<typename Op::Result> out, bool inclusive) {
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t row = index_t(blockIdx.x) * blockDim.x + threadIdx.x; row < in.rows; row += step) {
    typename Op::State state = Op::identity();
    for (index_t col = 0; col < in.cols; ++col) {
      const typename Op::State before = state;
      state = Op::combine(state, Op::lift(in(row, col)));
      out(row, col) = Op::finish(inclusive ? state : before);
    }
  }
}

void serial(const Call& original) {
  const Call call = as_sum(original);
  visit(call, TeachingOps{}, [&]<int kWarp, typename Op>() {
    launch(serial_kernel<Op>, call, groups_for(call.rows, 1, kSerialThreads), call.input<const typename Op::Input>(),
           call.output<typename Op::Result>(), is_inclusive(original));
  });
}

}  // namespace gp::scan
