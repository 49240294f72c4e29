// reduce.atomic: blocks fold stretches of the rows and combine their partials atomically into the results.
// One launch writes the identities, one folds. Reads each element once and needs no temporary storage. The order in
// which blocks arrive is not fixed, so float sums may differ in their last bits from run to run, and so may the sign of
// a zero that is the extremum; integers are exact in any order.
#include <gpuport/gpuport.cuh>

#include "operators.hpp"

namespace gp::reduce {

constexpr int kAtomicThreads = 256;
constexpr index_t kAtomicStretch = 16384;  // elements a block: one atomic for so many is no bottleneck

template <typename Op>
GP_DEVICE void combine_atomically(const Op& op, typename Op::Result* address, typename Op::State state) {
  using State = typename Op::State;
  using Word = std::conditional_t<sizeof(State) == 8, unsigned long long, unsigned>;
  Word* const word = reinterpret_cast<Word*>(address);
  if constexpr (Op::kCode == OpCode::kSum && std::is_integral_v<State>) {
    atomicAdd(word, Word(state));
  } else if constexpr (Op::kCode == OpCode::kSum) {
    atomicAdd(address, state);
  } else {
    // Until nobody came in between, or there is nothing to change.
    Word seen = atomicCAS(word, Word(0), Word(0));
    for (;;) {
      const Word next = bit_cast<Word>(op.finish(Op::combine(op.lift(bit_cast<State>(seen)), state)));
      if (next == seen) return;
      const Word before = atomicCAS(word, seen, next);
      if (before == seen) return;
      seen = before;
    }
  }
}

template <typename Op>
GP_KERNEL write_identities_kernel(Results<Op> out, index_t rows) {
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t row = index_t(blockIdx.x) * blockDim.x + threadIdx.x; row < rows; row += step) {
    out.write(row, Op::identity());
  }
}

template <int kWarp, typename Op>
GP_KERNEL atomic_kernel(View2<const typename Op::Input> in, Results<Op> out, index_t splits) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using State = typename Op::State;
  static_assert(std::is_same_v<State, typename Op::Result>, "the result is where partials meet");
  using Block = BlockReduce<kWarp, kAtomicThreads, Op>;
  __shared__ typename Block::Storage storage;
  for (index_t item = blockIdx.x; item < in.rows * splits; item += gridDim.x) {
    const index_t row = item / splits, begin = item % splits * kAtomicStretch;
    const index_t end = begin + kAtomicStretch < in.cols ? begin + kAtomicStretch : in.cols;
    State state = Op::identity();
    for (index_t col = begin + threadIdx.x; col < end; col += kAtomicThreads) {
      state = Op::combine(state, out.op.lift(in(row, col)));
    }
    state = Block::all_reduce(state, storage);
    if (threadIdx.x == 0) combine_atomically(out.op, &out.data[row * out.stride], state);
    __syncthreads();  // every warp has read the storage before the next stretch reuses it
  }
}

void atomic(const Call& call) {
  visit(canonical(call), TeachingOps{}, [&]<int kWarp, typename Op>() {
    const index_t splits = ceil_div(call.cols, kAtomicStretch);
    launch(write_identities_kernel<Op>, call, groups_for(call.rows, 1, kAtomicThreads), results<Op>(call), call.rows);
    launch(atomic_kernel<kWarp, Op>, call, blocks_for(call.rows * splits, kAtomicThreads),
           call.input<const typename Op::Input>(), results<Op>(call), splits);
  });
}

}  // namespace gp::reduce
