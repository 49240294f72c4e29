// What every variant of the family shares: which elements of a row take part, and what is written once the row's (m, d)
// is known.
//
// Rules, the same for every variant and backend. A masked element takes no part: its probability is 0, its logarithm
// -inf.
//   a row with no element that takes part   softmax 0      log_softmax -inf   logsumexp -inf
//   all elements that take part are -inf    softmax NaN    log_softmax NaN    logsumexp -inf
//   +inf among them, no NaN                 softmax NaN    log_softmax NaN    logsumexp +inf
//   NaN among them                          softmax NaN    log_softmax NaN    logsumexp NaN
#pragma once

#include <gpuport/gpuport.cuh>

namespace gp::softmax {

using TeachingTypes = TypeList<float, double>;
using EveryType = TypeList<float16, bfloat16, float, double>;

template <typename T>
struct Rows {
  using A = Accum<T>;
  View2<const T> in;
  View2<T> out;
  View2<const std::uint8_t> mask;  // no data where there is no mask
  OpCode op;

  GP_DEVICE index_t count() const { return in.rows; }
  GP_DEVICE index_t cols() const { return in.cols; }
  GP_DEVICE bool takes_part(index_t row, index_t col) const { return mask.data == nullptr || mask(row, col) != 0; }
  GP_DEVICE A value(index_t row, index_t col) const { return A(in(row, col)); }
};

// How a finished row is written: once per row, from its state and whether any of its elements takes part.
template <typename T>
struct Normalizer {
  using A = Accum<T>;
  A max, sum, log_sum;
  bool undefined;  // every element that takes part is NaN in the output

  GP_DEVICE explicit Normalizer(const MaxSum<A>& state)
      : max(state.max),
        sum(state.sum),
        log_sum(logarithm(state.sum)),
        undefined(state.sum != state.sum || state.max == infinity<A>() || state.max == -infinity<A>()) {}

  GP_DEVICE void write(const Rows<T>& rows, index_t row, index_t col) const {
    const bool logarithmic = rows.op == OpCode::kLogSoftmax;
    A result;
    if (!rows.takes_part(row, col)) {
      result = logarithmic ? -infinity<A>() : A(0);
    } else if (undefined) {
      result = quiet_nan<A>();
    } else {
      const A shifted = rows.value(row, col) - max;
      result = logarithmic ? shifted - log_sum : exponential(shifted) / sum;
    }
    rows.out(row, col) = T(result);
  }

  // Columns first, first + step, ... of the row. For logsumexp the row has one result, which the thread with first == 0
  // writes.
  GP_DEVICE void write_row(const Rows<T>& rows, index_t row, int first, int step) const {
    if (rows.op == OpCode::kLogSumExp) {
      if (first == 0) rows.out(row, 0) = T(sum != sum ? sum : undefined ? max : max + log_sum);
      return;
    }
    for (index_t col = first; col < rows.cols(); col += step) write(rows, row, col);
  }
};

template <typename T>
Rows<T> rows_of(const Call& call) {
  return {call.input<const T>(), call.output<T>(), call.mask(), call.op};
}

}  // namespace gp::softmax
