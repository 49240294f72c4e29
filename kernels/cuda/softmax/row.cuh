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

  // The result for an element of value x.
  GP_DEVICE A result(OpCode op, bool takes_part, A x) const {
    const bool logarithmic = op == OpCode::kLogSoftmax;
    if (!takes_part) return logarithmic ? -infinity<A>() : A(0);
    if (undefined) return quiet_nan<A>();
    const A shifted = x - max;
    return logarithmic ? shifted - log_sum : exponential(shifted) / sum;
  }

  GP_DEVICE A log_sum_exp() const { return sum != sum ? sum : undefined ? max : max + log_sum; }

  // Columns first, first + step, ... of the row. For logsumexp the row has one result, which the thread with first == 0
  // writes.
  GP_DEVICE void write_row(const Rows<T>& rows, index_t row, index_t first, index_t step) const {
    write_columns(rows, row, first, step, rows.cols());
  }
  GP_DEVICE void write_columns(const Rows<T>& rows, index_t row, index_t first, index_t step, index_t end) const {
    if (rows.op == OpCode::kLogSumExp) {
      if (first == 0) rows.out(row, 0) = T(log_sum_exp());
      return;
    }
    for (index_t col = first; col < end; col += step) {
      rows.out(row, col) = T(result(rows.op, rows.takes_part(row, col), rows.value(row, col)));
    }
  }
};

// Some variants hold a row on the chip, which has an end.
inline void require_at_most(const Call& call, index_t cols) {
  if (call.cols <= cols) return;
  fail(ErrorKind::kValue, call.name, " takes rows of up to ", cols, " columns of ", dtype_name(call.in.dtype), ", not ",
       call.cols);
}

template <typename T>
Rows<T> rows_of(const Call& call) {
  return {call.input<const T>(), call.output<T>(), call.mask(), call.op};
}

// For rows that stand side by side; see columns.cu.
void columns(const Call& call);

}  // namespace gp::softmax
