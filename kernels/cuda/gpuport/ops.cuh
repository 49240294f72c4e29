// Associative operators with their identities.
//
// An operator is a type: Input is an element, State what is carried, Result what is written; identity(), lift(Input),
// combine(State, State), finish(State). kCode names it to the host. combine(identity(), s) is s, bit for bit.
#pragma once

#include "call.hpp"
#include "types.cuh"

namespace gp {

// Integers wrap, as NumPy's do: the addition is unsigned, so overflow is defined.
template <typename T, typename A, typename R = A>
struct Sum {
  using Input = T;
  using State = A;
  using Result = R;
  static constexpr OpCode kCode = OpCode::kSum;
  static GP_HOST_DEVICE State identity() { return State(0); }
  static GP_HOST_DEVICE State lift(Input x) { return State(x); }
  static GP_HOST_DEVICE State combine(State a, State b) {
    if constexpr (std::is_integral_v<State>) {
      return State(std::make_unsigned_t<State>(a) + std::make_unsigned_t<State>(b));
    } else {
      return a + b;
    }
  }
  static GP_HOST_DEVICE Result finish(State s) { return Result(s); }
};

// NaN wins over everything, as in NumPy. f16 and bf16 compare as f32, which holds each of their values.
template <typename T, bool kGreatest>
struct Extremum {
  using Input = T;
  using State = std::conditional_t<kIsReducedFloat<T>, float, std::conditional_t<std::is_same_v<T, boolean>, bool, T>>;
  using Result = T;
  static constexpr OpCode kCode = kGreatest ? OpCode::kMax : OpCode::kMin;
  static GP_HOST_DEVICE State identity() {
    if constexpr (kIsFloat<T>) {
      return kGreatest ? -infinity<State>() : infinity<State>();
    } else {
      constexpr State kLeast = std::numeric_limits<State>::min(), kMost = std::numeric_limits<State>::max();
      return kGreatest ? kLeast : kMost;
    }
  }
  static GP_HOST_DEVICE State lift(Input x) { return State(x); }
  static GP_HOST_DEVICE State combine(State a, State b) {
    if constexpr (kIsFloat<T>) {
      if (b != b) return b;
    }
    // A NaN in `a` makes the comparison false and stays.
    return (kGreatest ? b > a : b < a) ? b : a;
  }
  static GP_HOST_DEVICE Result finish(State s) { return Result(s); }
};
template <typename T>
using Max = Extremum<T, true>;
template <typename T>
using Min = Extremum<T, false>;

// An extremum and the index where it stands; the lowest index on ties, the first NaN before everything.
template <typename T, bool kGreatest>
struct ArgExtremum {
  using Input = T;
  struct State {
    typename Extremum<T, kGreatest>::State value;
    index_t index;
  };
  using Result = index_t;
  static constexpr OpCode kCode = kGreatest ? OpCode::kArgMax : OpCode::kArgMin;
  static constexpr index_t kNowhere = std::numeric_limits<index_t>::max();
  static GP_HOST_DEVICE State identity() { return {Extremum<T, kGreatest>::identity(), kNowhere}; }
  static GP_HOST_DEVICE State lift(Input x, index_t index) { return {Extremum<T, kGreatest>::lift(x), index}; }
  static GP_HOST_DEVICE State combine(State a, State b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool b_better = b_nan ? !a_nan : !a_nan && (kGreatest ? b.value > a.value : b.value < a.value);
    const bool tie = a_nan ? b_nan : a.value == b.value;
    return b_better || (tie && b.index < a.index) ? b : a;
  }
  static GP_HOST_DEVICE Result finish(State s) { return s.index; }
};
template <typename T>
using ArgMax = ArgExtremum<T, true>;
template <typename T>
using ArgMin = ArgExtremum<T, false>;

GP_HOST_DEVICE float exponential(float x) { return expf(x); }
GP_HOST_DEVICE double exponential(double x) { return exp(x); }
GP_HOST_DEVICE float logarithm(float x) { return logf(x); }
GP_HOST_DEVICE double logarithm(double x) { return log(x); }

// exp(x - max) for x <= max; exactly 1 at the maximum, also where that is an infinity and the subtraction would give
// NaN.
template <typename A>
GP_HOST_DEVICE A shifted_exponential(A x, A max) {
  return x == max ? A(1) : exponential(x - max);
}

// The running maximum m and the sum d of exp(x - m), in one pass (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018). The empty state is (-inf, 0), also for elements that are all -inf. A NaN lives in d
// alone: once there it stays, while m remains comparable. Elements at the maximum count exactly 1, so +inf at m = +inf
// is not a NaN.
template <typename A>
struct MaxSum {
  A max, sum;  // no initializers: arrays of states stand in shared memory

  static GP_HOST_DEVICE MaxSum empty() { return {-infinity<A>(), A(0)}; }

  GP_HOST_DEVICE void push(A x) {
    if (x > max) {
      sum = sum * exponential(max - x) + A(1);
      max = x;
    } else if (x != -infinity<A>()) {
      sum += shifted_exponential(x, max);
    }
  }
};

template <typename A>
struct MergeMaxSum {
  using State = MaxSum<A>;
  static GP_HOST_DEVICE State identity() { return State::empty(); }
  static GP_HOST_DEVICE State combine(State a, State b) {
    const A max = b.max > a.max ? b.max : a.max;
    return {max, a.sum * shifted_exponential(a.max, max) + b.sum * shifted_exponential(b.max, max)};
  }
};

}  // namespace gp
