// Associative operators with their identities.
//
// An operator is a type: Input is an element, State what is carried, Result what is written; identity(), lift(Input),
// combine(State, State), finish(State). kCode names it to the host. combine(identity(), s) is s, bit for bit. identity
// and combine are static.
#pragma once

#include "call.hpp"
#include "types.cuh"

namespace gp {

// Whether combine(a, b) is combine(b, a), bit for bit. Operators say so, and nothing is taken for granted.
template <typename Op>
concept Commutes = requires { requires Op::kCommutes; };

// Whether the result is the same, bit for bit, in whatever order and groups the elements are combined.
template <typename Op>
concept IsExact = requires { requires Op::kIsExact; };

// Whether elements that are zero leave the state as it is, bit for bit: a sum that began with 0.0 is never -0.0.
template <typename Op>
concept IgnoresZeros = requires { requires Op::kIgnoresZeros; };

// Integers wrap, as NumPy's do: the addition is unsigned, so overflow is defined.
template <typename T>
GP_HOST_DEVICE T wrapping_sum(T a, T b) {
  return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
}

template <typename T, typename A, typename R = A>
struct Sum {
  using Input = T;
  using State = A;
  using Result = R;
  static constexpr OpCode kCode = OpCode::kSum;
  static constexpr bool kCommutes = true, kIgnoresZeros = true;
  static GP_HOST_DEVICE State identity() { return State(0); }
  static GP_HOST_DEVICE State lift(Input x) { return State(x); }
  static GP_HOST_DEVICE State combine(State a, State b) {
    if constexpr (std::is_integral_v<State>) {
      return wrapping_sum(a, b);
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
  // Whether a alone would come out of combine(a, b).
  static GP_HOST_DEVICE bool is_better(State a, State b) {
    if constexpr (kIsFloat<T>) {
      return b == b && (kGreatest ? !(a <= b) : !(a >= b));
    } else {
      return kGreatest ? a > b : a < b;
    }
  }
  static GP_HOST_DEVICE State lift(Input x) { return State(x); }
  static GP_HOST_DEVICE State combine(State a, State b) {
    if constexpr (kGreatest) {
      return greatest(a, b);
    } else if constexpr (kIsFloat<T>) {
      return -greatest(-a, -b);
    } else {
      return b < a ? b : a;
    }
  }
  static GP_HOST_DEVICE Result finish(State s) { return Result(s); }
};
template <typename T>
using Max = Extremum<T, true>;
template <typename T>
using Min = Extremum<T, false>;

// A word that is the greater, the greater the value: as an integer compares, or a float of which a NaN is the greatest
// and zeros are equal. And the value of such a word.
template <typename V>
GP_HOST_DEVICE std::uint32_t ordered_word(V value) {
  if constexpr (std::is_same_v<V, float>) {
    if (value != value) return ~0u;
    const auto bits = bit_cast<std::uint32_t>(value + 0.0f);  // -0.0 becomes 0.0
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  } else {
    static_assert(std::is_integral_v<V> && sizeof(V) <= 4);
    return std::uint32_t(std::int32_t(value)) ^ 0x80000000u;
  }
}
template <typename V>
GP_HOST_DEVICE V of_ordered_word(std::uint32_t word) {
  if constexpr (std::is_same_v<V, float>) {
    if (word == ~0u) return quiet_nan<float>();
    return bit_cast<float>(word >> 31 != 0 ? word & 0x7fffffffu : ~word);
  } else {
    return V(std::int32_t(word ^ 0x80000000u));
  }
}

// Four bytes of bool at once: 1 for every byte that is not 0.
GP_HOST_DEVICE std::uint32_t nonzero_bytes(std::uint32_t bytes) {
  return (((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bytes) >> 7 & 0x01010101u;
}

// Bits that, flipped in an element, make it compare as the call wants: the largest key is the extremum asked for.
// Flipping every bit of a signed integer reverses its order, flipping the top bit makes an unsigned one compare as
// signed, and flipping a float's sign negates it. So one instantiation serves max and min, signed and unsigned, and
// that of bytes also bool.
template <typename T>
struct Key {
  using State = typename Max<T>::State;
  using Bits =
      std::conditional_t<sizeof(State) == 1, std::uint8_t,
                         std::conditional_t<sizeof(State) == 2, std::uint16_t,
                                            std::conditional_t<sizeof(State) == 4, std::uint32_t, std::uint64_t>>>;
  Bits flip;
  bool is_bool;

  static Key of(const Call& call) {
    constexpr Bits kTop = Bits(Bits(1) << (sizeof(State) * 8 - 1));
    const bool reversed = call.op == OpCode::kMin || call.op == OpCode::kArgMin;
    if constexpr (kIsFloat<T>) return {reversed ? kTop : Bits(0), false};
    const bool is_bool = call.in.dtype == DType::kBool;
    const Bits order = is_bool || is_unsigned(call.in.dtype) ? kTop : Bits(0);
    return {reversed ? Bits(~order) : order, is_bool};
  }
  GP_HOST_DEVICE State to(T x) const { return bit_cast<State>(Bits(plain(bit_cast<Bits>(State(x))) ^ flip)); }
  GP_HOST_DEVICE T from(State key) const { return T(bit_cast<State>(plain(Bits(bit_cast<Bits>(key) ^ flip)))); }

  // The keys of the items of a pack.
  template <typename Pack, int kCount>
  GP_HOST_DEVICE void to(const Pack& pack, State (&keys)[kCount]) const {
    if constexpr (sizeof(T) == 1) {  // four at once
      std::uint32_t words[kCount / 4];
      __builtin_memcpy(words, &pack, sizeof(words));
#pragma unroll
      for (int w = 0; w < kCount / 4; ++w) {
        const std::uint32_t flipped = (is_bool ? nonzero_bytes(words[w]) : words[w]) ^ flip * 0x01010101u;
#pragma unroll
        for (int i = 0; i < 4; ++i) keys[4 * w + i] = State(flipped >> 8 * i);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) keys[i] = to(pack.items[i]);
    }
  }

 private:
  GP_HOST_DEVICE Bits plain(Bits bits) const {
    if constexpr (sizeof(T) == 1) {
      return is_bool ? Bits(bits != 0) : bits;
    } else {
      return bits;
    }
  }
};

// The call as few operators serve it: signed and unsigned integers of one size are one, and bool is a byte. Sums that
// wrap have the same bits signed and unsigned; an extremum is the largest key, and keys compare as signed.
inline Call canonical(Call call) {
  const DType input = signed_twin(call.in.dtype == DType::kBool ? DType::kU8 : call.in.dtype);
  switch (call.op) {
    case OpCode::kSum:
      if (call.out.dtype == DType::kU64) call.out.dtype = DType::kI64;
      break;
    case OpCode::kMax:
    case OpCode::kMin:
      if (call.out.dtype == call.in.dtype) call.out.dtype = input;
      call.op = OpCode::kMax;
      break;
    case OpCode::kArgMax:
    case OpCode::kArgMin:
      call.op = OpCode::kArgMax;
      break;
    default:
      return call;
  }
  call.in.dtype = input;
  return call;
}

// A sum of integers in 64 bits; one instantiation serves signed and unsigned, and that of bytes also bool. An element
// is extended by its sign, and of that count the bits of `mask`.
template <typename T>
struct KeyedSum {
  using Input = T;
  using State = std::int64_t;
  using Result = std::int64_t;
  // Holds the sum of a pack, in which the additions of short elements take half of the instructions.
  using Brief = std::conditional_t<(sizeof(T) < 4), std::int32_t, State>;
  using Bits = std::make_unsigned_t<Brief>;
  static constexpr OpCode kCode = OpCode::kSum;
  static constexpr bool kCommutes = true, kIsExact = true, kIgnoresZeros = true;
  Bits mask;
  bool is_bool;

  static KeyedSum of(const Call& call) {
    const bool is_bool = call.in.dtype == DType::kBool;
    constexpr Bits kOwn = std::numeric_limits<std::make_unsigned_t<T>>::max(), kAll = Bits(~Bits(0));
    return {is_bool || is_unsigned(call.in.dtype) ? kOwn : kAll, is_bool};
  }
  static GP_HOST_DEVICE State identity() { return 0; }
  GP_HOST_DEVICE Brief brief(Input x) const {
    const Bits bits = Bits(Brief(x)) & mask;
    if constexpr (sizeof(T) == 1) {
      return is_bool ? Brief(bits != 0) : Brief(bits);
    } else {
      return Brief(bits);
    }
  }
  GP_HOST_DEVICE State lift(Input x) const { return brief(x); }
  static GP_HOST_DEVICE State combine(State a, State b) { return wrapping_sum(a, b); }
  static GP_HOST_DEVICE Result finish(State s) { return s; }
  // The sum of the lanes' states: by pieces so short that those of all lanes add up to a word.
  template <typename W>
  static GP_DEVICE State across(State state) {
    constexpr int kPiece = 26;
    static_assert(W::kLanes <= 1 << (32 - kPiece));
    const auto bits = std::uint64_t(state);
    std::uint64_t sum = 0;
#pragma unroll
    for (int at = 0; at < 64; at += kPiece) {
      sum += std::uint64_t(W::sum_of_words(std::uint32_t(bits >> at) & ((1u << kPiece) - 1))) << at;
    }
    return State(sum);
  }

  // The sum of kCount items, in a pack.
  template <int kCount, typename Pack>
  GP_HOST_DEVICE State sum_of(const Pack& pack) const {
    if constexpr (sizeof(T) == 1) {  // two at once, in halves of a word; signed ones are raised to be positive
      std::uint32_t words[kCount / 4], halves = 0;
      __builtin_memcpy(words, &pack, sizeof(words));
      const bool is_signed = mask != Bits(std::uint8_t(~0));
#pragma unroll
      for (std::uint32_t word : words) {
        if (is_bool) word = nonzero_bytes(word);
        if (is_signed) word ^= 0x80808080u;
        halves += (word & 0x00ff00ffu) + (word >> 8 & 0x00ff00ffu);
      }
      return State((halves & 0xffffu) + (halves >> 16)) - (is_signed ? kCount * 0x80 : 0);
    } else {
      Brief sum = 0;
#pragma unroll
      for (int i = 0; i < kCount; ++i) sum = wrapping_sum(sum, brief(pack.items[i]));
      return sum;
    }
  }
};

// An operator with a key holds data, so it is passed to its kernel; `op.lift(x)` and `op.finish(s)` serve both kinds.
template <typename T>
struct KeyedMax : Key<T> {
  using Input = T;
  using State = typename Max<T>::State;
  using Result = T;
  static constexpr OpCode kCode = OpCode::kMax;
  static constexpr bool kIsExact = true;
  static GP_HOST_DEVICE State identity() { return Max<T>::identity(); }
  static GP_HOST_DEVICE bool is_better(State a, State b) { return Max<T>::is_better(a, b); }
  static GP_HOST_DEVICE State combine(State a, State b) { return Max<T>::combine(a, b); }
  GP_HOST_DEVICE State lift(T x) const { return this->to(x); }
  GP_HOST_DEVICE T finish(State s) const { return this->from(s); }
};

// An extremum and the index where it stands; the lowest index on ties, the first NaN before everything.
template <typename T, bool kGreatest>
struct ArgExtremum {
  using Input = T;
  using Value = Extremum<T, kGreatest>;
  struct State {
    typename Value::State value;
    index_t index;
  };
  using Result = index_t;
  static constexpr OpCode kCode = kGreatest ? OpCode::kArgMax : OpCode::kArgMin;
  static constexpr index_t kNowhere = std::numeric_limits<index_t>::max();
  static GP_HOST_DEVICE State identity() { return {Value::identity(), kNowhere}; }
  static GP_HOST_DEVICE State lift(Input x, index_t index) { return {Value::lift(x), index}; }
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

// Its elements are folded by their places (fold_stretch.cuh), so it combines nothing itself.
template <typename T>
struct KeyedArgMax : Key<T> {
  using Input = T;
  using Value = KeyedMax<T>;
  using State = typename ArgMax<T>::State;
  using Result = index_t;
  static constexpr OpCode kCode = OpCode::kArgMax;
  static constexpr bool kIsExact = true;
  static GP_HOST_DEVICE Result finish(State s) { return s.index; }
};

// The operator as the call wants it.
template <typename Op>
Op operator_of(const Call& call) {
  if constexpr (requires { Op::of(call); }) {
    return {Op::of(call)};
  } else {
    return {};
  }
}

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

// The greatest of what is not NaN, -inf where there is nothing else. Not Max, whose NaN wins: beside a sum, which holds
// the NaN already, this is one instruction.
template <typename A>
struct Greatest {
  using State = A;
  static GP_HOST_DEVICE State identity() { return -infinity<A>(); }
  static GP_HOST_DEVICE State combine(State a, State b) {
    if constexpr (sizeof(A) == sizeof(float)) {
      return fmaxf(a, b);
    } else {
      return fmax(a, b);
    }
  }
};

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
