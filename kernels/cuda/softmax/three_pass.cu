// softmax.three_pass: one block a row; a tree for the maximum, a tree for the sum, then normalise.
// Reads each row three times, writes it once. The whole block holds both results, through shared memory.
#include "row.cuh"

namespace gp::softmax {

constexpr int kTreeThreads = 256;

// Every thread holds the result. The scratch is free again when it returns.
template <typename Op>
GP_DEVICE typename Op::State tree_reduce(typename Op::State state, typename Op::State* scratch) {
  const int thread = threadIdx.x;
  scratch[thread] = state;
  __syncthreads();  // every thread's value is there
  for (int half = kTreeThreads / 2; half > 0; half /= 2) {
    if (thread < half) scratch[thread] = Op::combine(scratch[thread], scratch[thread + half]);
    __syncthreads();  // the level is complete before the next reads it
  }
  const typename Op::State result = scratch[0];
  __syncthreads();  // every thread has read the result before the scratch is reused
  return result;
}

enum class Pass { kMaximum, kShiftedSum, kOutput };

// `watch(pass, state)` is called by every thread after each pass.
template <typename T, typename Watch = Unwatched>
GP_DEVICE void three_pass_row(const Rows<T>& rows, index_t row, Accum<T>* scratch, Watch watch = {}) {
  using A = Accum<T>;
  const int thread = threadIdx.x;
  auto state = MaxSum<A>::empty();
  for (index_t col = thread; col < rows.cols(); col += kTreeThreads) {
    if (rows.takes_part(row, col)) state.max = Max<A>::combine(state.max, rows.value(row, col));
  }
  state.max = tree_reduce<Max<A>>(state.max, scratch);
  watch(Pass::kMaximum, state);
  for (index_t col = thread; col < rows.cols(); col += kTreeThreads) {
    const A x = rows.value(row, col);
    if (rows.takes_part(row, col) && x != -infinity<A>()) state.sum += shifted_exponential(x, state.max);
  }
  state.sum = tree_reduce<Sum<A, A>>(state.sum, scratch);
  watch(Pass::kShiftedSum, state);
  Normalizer<T>(state).write_row(rows, row, thread, kTreeThreads);
  watch(Pass::kOutput, state);
}

template <typename T>
GP_KERNEL three_pass_kernel(Rows<T> rows) {
  __shared__ Accum<T> scratch[kTreeThreads];
  for (index_t row = blockIdx.x; row < rows.count(); row += gridDim.x) three_pass_row(rows, row, scratch);
}

void three_pass(const Call& call) {
  visit_elements(call, TeachingTypes{}, [&]<int kWarp, typename T>() {
    launch(three_pass_kernel<T>, call, blocks_for(call.rows, kTreeThreads), rows_of<T>(call));
  });
}

}  // namespace gp::softmax
