// softmax.merge_states: two softmax states of every row merged to that of both, one thread a row.
// Reads four values a row, writes two. The empty state changes no bit of the other, whatever that holds; two empty
// states give the empty one.
#include <gpuport/gpuport.cuh>

namespace gp::softmax {

constexpr int kMergeThreads = 256;

template <typename A>
struct StateView {
  A *max, *sum;
  index_t max_stride, sum_stride;

  GP_DEVICE MaxSum<A> operator[](index_t row) const { return {max[row * max_stride], sum[row * sum_stride]}; }
};

template <typename A>
StateView<A> state_view(const Call& call, const Operand& max, const Operand& sum) {
  if (sum.data == nullptr || max.dtype != call.in.dtype || sum.dtype != call.in.dtype) {
    fail(ErrorKind::kValue, call.name, " takes and writes maxima and sums of one dtype");
  }
  return {static_cast<A*>(max.data), static_cast<A*>(sum.data), max.row_stride, sum.row_stride};
}

template <typename A>
GP_DEVICE bool is_empty(const MaxSum<A>& state) {
  return state.max == -infinity<A>() && state.sum == A(0);
}

// A caller's maximum that is a NaN is no number: the sum holds the NaN in its place, whichever state comes first.
template <typename A>
GP_DEVICE MaxSum<A> with_number(const MaxSum<A>& state) {
  return state.max == state.max ? state : MaxSum<A>{-infinity<A>(), quiet_nan<A>()};
}

template <typename A>
GP_KERNEL merge_states_kernel(StateView<A> left, StateView<A> right, StateView<A> out, index_t rows) {
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t row = index_t(blockIdx.x) * blockDim.x + threadIdx.x; row < rows; row += step) {
    const MaxSum<A> a = left[row], b = right[row];
    // Asked for, not computed: arithmetic would not keep the payload of a NaN.
    const MaxSum<A> merged = is_empty(b)   ? a
                             : is_empty(a) ? b
                                           : MergeMaxSum<A>::combine(with_number(a), with_number(b));
    out.max[row * out.max_stride] = merged.max;
    out.sum[row * out.sum_stride] = merged.sum;
  }
}

// Inputs are the maxima and sums of one, then of the other; outputs those of both.
void merge_states(const Call& call) {
  visit_elements(call, TypeList<float, double>{}, [&]<int kWarp, typename A>() {
    launch(merge_states_kernel<A>, call, groups_for(call.rows, 1, kMergeThreads),
           state_view<A>(call, call.in, call.more_in[0]), state_view<A>(call, call.more_in[1], call.more_in[2]),
           state_view<A>(call, call.out, call.more_out[0]), call.rows);
  });
}

}  // namespace gp::softmax
