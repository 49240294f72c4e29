// reduce.serial: one thread a row, from left to right.
// Reads each element once. The baseline: no other thread, no shared memory, no order but the obvious one.
#include <gpuport/gpuport.cuh>

#include "operators.hpp"

namespace gp::reduce {

constexpr int kSerialThreads = 64;  // rows per block

template <typename Op>
GP_KERNEL serial_kernel(View2<const typename Op::Input> in, Results<Op> out) {
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t row = index_t(blockIdx.x) * blockDim.x + threadIdx.x; row < in.rows; row += step) {
    typename Op::State state = Op::identity();
    for (index_t col = 0; col < in.cols; ++col) state = Op::combine(state, out.op.lift(in(row, col)));
    out.write(row, state);
  }
}

void serial(const Call& call) {
  visit(canonical(call), TeachingOps{}, [&]<int kWarp, typename Op>() {
    launch(serial_kernel<Op>, call, groups_for(call.rows, 1, kSerialThreads), call.input<const typename Op::Input>(),
           results<Op>(call));
  });
}

}  // namespace gp::reduce
