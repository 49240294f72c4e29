// reduce.shared_tree: one block a row, a tree in shared memory.
// Each thread folds the elements t, t + 512, ... and t + 256, t + 768, ... of its row, then the tree halves the number
// of partials at each level. Reads each element once. Thread 0 holds the result.
#include <gpuport/gpuport.cuh>

#include "operators.hpp"

namespace gp::reduce {

constexpr int kTreeThreads = 256;

template <typename Op>
GP_KERNEL shared_tree_kernel(View2<const typename Op::Input> in, Results<Op> out) {
  __shared__ typename Op::State partial[kTreeThreads];
  const int thread = threadIdx.x;
  for (index_t row = blockIdx.x; row < in.rows; row += gridDim.x) {
    typename Op::State state = Op::identity();
    for (index_t col = thread; col < in.cols; col += kTreeThreads)
      state = Op::combine(state, out.op.lift(in(row, col)));
    partial[thread] = state;
    __syncthreads();  // every partial is written
    for (int half = kTreeThreads / 2; half > 0; half /= 2) {
      if (thread < half) partial[thread] = Op::combine(partial[thread], partial[thread + half]);
      __syncthreads();  // the level is complete before the next reads it; the last one, before the next row overwrites
                        // it
    }
    if (thread == 0) out.write(row, partial[0]);
  }
}

void shared_tree(const Call& call) {
  visit(canonical(call), TeachingOps{}, [&]<int kWarp, typename Op>() {
    launch(shared_tree_kernel<Op>, call, blocks_for(call.rows, kTreeThreads), call.input<const typename Op::Input>(),
           results<Op>(call));
  });
}

}  // namespace gp::reduce
