// reduce.hierarchical: passes that each fold 512 elements to one, until one a row is left.
// 4,194,304 elements become 8,192, then 16, then 1. The order depends on the length alone, so results repeat bit for
// bit. Reads each element once, and about 1/512 of that again as partials, which live in temporary storage.
#include <gpuport/gpuport.cuh>

#include <utility>

#include "operators.hpp"

namespace gp::reduce {

constexpr int kPassThreads = 256;
constexpr int kPassItems = 512;  // folded by one block

// One block folds one stretch of one row. `out` takes the result where the row has a single stretch, `partials`
// otherwise. Elements of the first pass are lifted; later passes read what the one before combined.
template <int kWarp, typename Op, bool kFirst, typename In>
GP_KERNEL hierarchical_kernel(View2<const In> in, View2<typename Op::State> partials, Results<Op> out) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using Block = BlockReduce<kWarp, kPassThreads, Op>;
  __shared__ typename Block::Storage storage;
  const index_t stretches = in.rows * partials.cols;
  for (index_t stretch = blockIdx.x; stretch < stretches; stretch += gridDim.x) {
    const index_t row = stretch / partials.cols, part = stretch % partials.cols;
    typename Op::State state = Op::identity();
    for (int item = threadIdx.x; item < kPassItems; item += kPassThreads) {
      const index_t col = part * kPassItems + item;
      if (col >= in.cols) continue;
      if constexpr (kFirst) {
        state = Op::combine(state, out.op.lift(in(row, col)));
      } else {
        state = Op::combine(state, in(row, col));
      }
    }
    state = Block::all_reduce(state, storage);
    if (threadIdx.x == 0) {
      if (partials.cols == 1) {
        out.write(row, state);
      } else {
        partials(row, part) = state;
      }
    }
    __syncthreads();  // every warp has read the storage before the next stretch reuses it
  }
}

void hierarchical(const Call& call) {
  visit(canonical(call), TeachingOps{}, [&]<int kWarp, typename Op>() {
    using State = typename Op::State;
    const auto stretches = [](index_t cols) { return larger(1, ceil_div(cols, kPassItems)); };
    const index_t first = stretches(call.cols), second = stretches(first);
    // Two buffers in turn: a pass reads one and writes the other.
    const Workspace workspace(call, std::size_t(call.rows * (first + second)) * sizeof(State));
    State* ping = workspace.data<State>();
    State* pong = ping + call.rows * first;
    const auto matrix = [&](State* data, index_t cols) { return View2<State>{data, call.rows, cols, cols, 1}; };

    View2<State> partials = matrix(ping, first);
    launch(hierarchical_kernel<kWarp, Op, true, typename Op::Input>, call, blocks_for(call.rows * first, kPassThreads),
           call.input<const typename Op::Input>(), partials, results<Op>(call));
    while (partials.cols > 1) {
      const View2<const State> in{partials.data, partials.rows, partials.cols, partials.row_stride, 1};
      std::swap(ping, pong);
      partials = matrix(ping, stretches(in.cols));
      launch(hierarchical_kernel<kWarp, Op, false, State>, call, blocks_for(call.rows * partials.cols, kPassThreads),
             in, partials, results<Op>(call));
    }
  });
}

}  // namespace gp::reduce
