// reduce.warp_shuffle: one block a row, shuffles within the warps.
// Each step of the block takes 512 elements, two a thread. Then a tree of shuffles in every warp, lane 0 of each writes
// its partial to shared memory, and the first warp folds those. Reads each element once; thread 0 holds the result.
// Lanes past the end of the row stay and carry the identity, so every shuffle has all its lanes.
#include <gpuport/gpuport.cuh>

#include "operators.hpp"

namespace gp::reduce {

constexpr int kShuffleThreads = 256;
constexpr int kShuffleItems = 2;  // elements a thread takes at a step

template <int kWarp, typename Op>
GP_KERNEL warp_shuffle_kernel(View2<const typename Op::Input> in, Results<Op> out) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  constexpr int kWarps = kShuffleThreads / kWarp;
  __shared__ typename Op::State partial[kWarps];
  const int thread = threadIdx.x;
  for (index_t row = blockIdx.x; row < in.rows; row += gridDim.x) {
    typename Op::State state = Op::identity();
    for (index_t base = 0; base < in.cols; base += kShuffleThreads * kShuffleItems) {
#pragma unroll
      for (int item = 0; item < kShuffleItems; ++item) {
        const index_t col = base + item * kShuffleThreads + thread;
        if (col < in.cols) state = Op::combine(state, out.op.lift(in(row, col)));
      }
    }
    state = W::template reduce<Op>(state);
    if (W::lane() == 0) partial[W::index()] = state;
    __syncthreads();  // the partial of every warp is written
    if (W::index() == 0) {
      state = W::lane() < kWarps ? partial[W::lane()] : Op::identity();
      state = W::template reduce<Op>(state);
      if (thread == 0) out.write(row, state);
    }
    __syncthreads();  // the first warp has read the partials before the next row overwrites them
  }
}

void warp_shuffle(const Call& call) {
  visit(canonical(call), TeachingOps{}, [&]<int kWarp, typename Op>() {
    launch(warp_shuffle_kernel<kWarp, Op>, call, blocks_for(call.rows, kShuffleThreads),
           call.input<const typename Op::Input>(), results<Op>(call));
  });
}

}  // namespace gp::reduce
