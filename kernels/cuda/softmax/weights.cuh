// What an element counts in the sum of its row, and what is written for it, for the kernels that read a row once.
#pragma once

#include "row.cuh"

namespace gp::softmax {

inline constexpr float kLog2E = 1.44269504f;

// exp(x) for x <= 0, in base 2: two roundings of x and a log2(e) that is a quarter of a unit off, so 2.25 |x| units of
// relative error beside the instruction's own four. float64 has no such instruction. With `kFlush` a result below
// 2^-126 may be 0.
template <bool kFlush, typename A>
GP_DEVICE A quick_exponential(A x) {
  if constexpr (std::is_same_v<A, float>) {
    return exp2_approximate<kFlush>(x * kLog2E);
  } else {
    return exponential(x);
  }
}

// What an element counts in a sum that is at least 1: below 2^-126 nothing.
template <typename A>
GP_DEVICE A weight_in_sum(A x) {
  return quick_exponential<true>(x);
}

// exp(x - pivot) of many x against one pivot, but for factor(), which is the same for all of them.
template <typename T>
struct Weights {
  using A = Accum<T>;
  A pivot;
  GP_DEVICE explicit Weights(A pivot) : pivot(pivot) {}
  GP_DEVICE A in_sum(A x) const { return weight_in_sum(x - pivot); }
  GP_DEVICE A operator()(A x) const { return quick_exponential<false>(x - pivot); }
  GP_DEVICE A factor() const { return A(1); }
};
// Of 16-bit x with one instruction less: 2^(x scale + offset), where only the product of pivot and scale is rounded.
// That rounding is what factor() takes back. Past 2^20, where it could leave the range of a float, 16-bit numbers are
// so far from each other that all weights are 0 or 1, whatever is raised to the power.
template <typename T>
  requires kIsReducedFloat<T>
struct Weights<T> {
  float pivot, scale, offset;
  GP_DEVICE explicit Weights(float pivot)
      : pivot(pivot), scale(pivot > 0x1p20f || pivot < -0x1p20f ? 1.0f : kLog2E), offset(-(pivot * scale)) {}
  GP_DEVICE float operator()(float x) const { return exp2_approximate<true>(fmaf(x, scale, offset)); }
  GP_DEVICE float in_sum(float x) const { return (*this)(x); }
  GP_DEVICE float factor() const { return exp2_approximate<true>(-fmaf(pivot, scale, offset)); }
};

// 1 / x for the sum of a row, within two units. The division of the language calls a function for operands that a sum
// of weights cannot be, and what is live around the call would be spilled.
GP_DEVICE float reciprocal(float x) { return __fdividef(1.0f, x); }
GP_DEVICE double reciprocal(double x) {
  double result = double(reciprocal(float(x)));
#pragma unroll
  for (int step = 0; step < 2; ++step) result += result * (1.0 - x * result);  // 24 bits, 48, all
  return result;
}

// What to subtract before the exponential: the maximum, but nothing where that is infinite. So elements at -inf count 0
// in a row of nothing else, +inf makes the sum infinite, and only a NaN makes it NaN.
template <typename A>
GP_DEVICE A pivot_of(A max) {
  return max == infinity<A>() || max == -infinity<A>() ? A(0) : max;
}

// The states of the group's lanes merged: one exponential a lane, where a tree of merges has two at each level. Every
// lane holds the result.
template <typename Group, typename A>
GP_DEVICE MaxSum<A> merge_lanes(const MaxSum<A>& state) {
  const A max = Group::template all_reduce<Greatest<A>>(state.max);
  return {max, Group::template all_reduce<Sum<A, A>>(state.sum * weight_in_sum(state.max - pivot_of(max)))};
}

// From an element, or from its weight, to what is written, before it is rounded to a T.
template <typename T>
struct Probability {
  using A = Accum<T>;
  Weights<T> weight;
  A factor;
  GP_DEVICE explicit Probability(const MaxSum<A>& state)
      : weight(state.max),
        factor(Normalizer<T>(state).undefined ? quiet_nan<A>() : reciprocal(state.sum) * weight.factor()) {}
  // Weights that were taken against another pivot than the row's maximum.
  GP_DEVICE Probability(const MaxSum<A>& state, A pivot) : Probability(state) {
    weight = Weights<T>(pivot);
    factor *= shifted_exponential(pivot, state.max);
  }
  GP_DEVICE A of_kept(A weight) const { return weight * factor; }
  GP_DEVICE A operator()(A x) const { return weight(x) * factor; }
};
template <typename T>
struct LogProbability {
  using A = Accum<T>;
  A max, log_sum;
  GP_DEVICE explicit LogProbability(const MaxSum<A>& state)
      : max(state.max), log_sum(Normalizer<T>(state).undefined ? quiet_nan<A>() : logarithm(state.sum)) {}
  GP_DEVICE A of_kept(A x) const { return (*this)(x); }
  GP_DEVICE A operator()(A x) const { return x - max - log_sum; }
};

// Whichever of the two the call asks for, with one branch for each pack, so that what is around it is compiled once.
// Where tiles stream by the branch costs time, and with_result() has code for each.
template <typename T>
struct RowResult {
  using A = Accum<T>;
  bool is_logarithmic;
  union {
    LogProbability<T> log_probability;
    Probability<T> probability;
  };
  GP_DEVICE RowResult(OpCode op, const MaxSum<A>& state) : is_logarithmic(op == OpCode::kLogSoftmax) {
    if (is_logarithmic) {
      log_probability = LogProbability<T>(state);
    } else {
      probability = Probability<T>(state);
    }
  }
  GP_DEVICE A operator()(A x) const { return is_logarithmic ? log_probability(x) : probability(x); }
};

// The results of elements, in place of them.
template <typename Result, typename A, int kCount>
GP_DEVICE void apply(const Result& result, A (&values)[kCount]) {
#pragma unroll
  for (A& value : values) value = result(value);
}
template <typename T, typename A, int kCount>
GP_DEVICE void apply(const RowResult<T>& result, A (&values)[kCount]) {
  if (result.is_logarithmic) {
    apply(result.log_probability, values);
  } else {
    apply(result.probability, values);
  }
}

}  // namespace gp::softmax
