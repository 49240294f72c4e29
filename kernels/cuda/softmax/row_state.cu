// softmax.row_state: the (max, sum) of every row, without the softmax itself.
// m is the maximum, d the sum of exp(x - m) over the elements that take part; a row without one, or with nothing but
// -inf, leaves the empty state (-inf, 0). A NaN lives in d. Reads each element once, writes two values a row; see
// gpuport/fold_in_order.cuh. f16, bf16 and f32 are carried as f32, f64 as f64: one kernel for either.
#include <gpuport/elements.cuh>
#include <gpuport/fold_in_order.cuh>
#include <gpuport/ops.cuh>

namespace gp::softmax {

template <typename A>
using CarriedTypes = std::conditional_t<std::is_same_v<A, float>, TypeList<float16, bfloat16, float>, TypeList<double>>;

template <typename A>
struct StateRows : AnyView2 {
  View2<const std::uint8_t> mask;  // no data where there is no mask

  // The state of a loop from left to right.
  struct Running {
    MaxSum<A> state;
    const std::uint8_t* mask;
    index_t mask_stride;

    template <typename T>
    GP_DEVICE void operator()(index_t col, T x) {
      if (mask == nullptr || mask[col * mask_stride] != 0) state.push(A(x));
    }
  };

  GP_DEVICE MaxSum<A> fold(index_t row, index_t begin, index_t end) const {
    Running running{MaxSum<A>::empty(), mask.data == nullptr ? nullptr : &mask(row, 0), mask.col_stride};
    for_each(CarriedTypes<A>{}, row, begin, end, running);
    return running.state;
  }
};

template <typename A>
struct States {
  A *max, *sum;
  index_t max_stride, sum_stride;

  GP_DEVICE void write(index_t row, const MaxSum<A>& state) const {
    max[row * max_stride] = state.max;
    sum[row * sum_stride] = state.sum;
  }
};

template <int kWarp, typename A>
void fold_states(const Call& call) {
  const Operand &max = call.out, &sum = call.more_out[0];
  if (max.dtype != kDTypeOf<A> || sum.dtype != kDTypeOf<A> || sum.data == nullptr) {
    fail(ErrorKind::kValue, call.name, " writes two arrays of ", dtype_name(kDTypeOf<A>));
  }
  const StateRows<A> rows{any_input(call), call.mask()};
  const States<A> states{static_cast<A*>(max.data), static_cast<A*>(sum.data), max.row_stride, sum.row_stride};
  fold_in_order<kWarp, MergeMaxSum<A>>(call, rows, states);
}

void row_state(const Call& call) {
  visit_width(call, [&]<int kWarp>() {
    if (call.in.dtype == DType::kF64) {
      fold_states<kWarp, double>(call);
    } else {
      fold_states<kWarp, float>(call);
    }
  });
}

}  // namespace gp::softmax
