// Arithmetic and conversions with the rounding that their name ends in: to the nearest even (rn), towards zero (rz), up
// (ru) and down (rd).
#pragma once

#include <cfenv>
#include <cmath>
#include <type_traits>

namespace gpuport::simt {

template <typename T>
inline T through_memory(T value) {
  volatile T cell = value;
  return cell;
}
// The operation under another rounding mode of the processor. What goes through memory is neither computed before the
// mode is set nor kept until it is back. Not inline, so that nothing is fused with it.
template <int kMode, typename F, typename... Values>
__attribute__((noinline)) auto rounded(F f, Values... values) {
  if constexpr (kMode == FE_TONEAREST) {
    return f(values...);
  } else {
    std::fesetround(kMode);
    const auto result = through_memory(f(through_memory(values)...));
    std::fesetround(FE_TONEAREST);
    return result;
  }
}

// Conversions saturate and NaN becomes 0, where C++ leaves them undefined.
template <typename To, typename From>
inline To convert(From v) {
  constexpr auto least = std::is_signed_v<To> ? To(To(1) << (sizeof(To) * 8 - 1)) : To(0);
  constexpr auto most = To(~least);
  if (v != v) return 0;
  if (v <= From(least)) return least;
  if (v >= From(most)) return most;
  return To(v);
}
// These names are not parameters of the macros below.
template <typename T>
inline T fma_of(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <typename T>
inline T sqrt_of(T v) {
  return std::sqrt(v);
}
template <int kMode, typename T>
inline T whole(T v) {
  if constexpr (kMode == FE_TONEAREST) return std::nearbyint(v);
  if constexpr (kMode == FE_TOWARDZERO) return std::trunc(v);
  if constexpr (kMode == FE_UPWARD) return std::ceil(v);
  if constexpr (kMode == FE_DOWNWARD) return std::floor(v);
}

}  // namespace gpuport::simt

#define GPUPORT_SIMT_ARITHMETIC(type, add, sub, mul, div, fma, sqrt, rcp, mode, rounding)                             \
  inline type add##mode(type a, type b) {                                                                             \
    return gpuport::simt::rounded<rounding>([](type p, type q) { return p + q; }, a, b);                              \
  }                                                                                                                   \
  inline type sub##mode(type a, type b) {                                                                             \
    return gpuport::simt::rounded<rounding>([](type p, type q) { return p - q; }, a, b);                              \
  }                                                                                                                   \
  inline type mul##mode(type a, type b) {                                                                             \
    return gpuport::simt::rounded<rounding>([](type p, type q) { return p * q; }, a, b);                              \
  }                                                                                                                   \
  inline type div##mode(type a, type b) {                                                                             \
    return gpuport::simt::rounded<rounding>([](type p, type q) { return p / q; }, a, b);                              \
  }                                                                                                                   \
  inline type fma##mode(type a, type b, type c) {                                                                     \
    return gpuport::simt::rounded<rounding>([](type p, type q, type r) { return gpuport::simt::fma_of(p, q, r); }, a, \
                                            b, c);                                                                    \
  }                                                                                                                   \
  inline type sqrt##mode(type v) {                                                                                    \
    return gpuport::simt::rounded<rounding>([](type p) { return gpuport::simt::sqrt_of(p); }, v);                     \
  }                                                                                                                   \
  inline type rcp##mode(type v) {                                                                                     \
    return gpuport::simt::rounded<rounding>([](type p) { return type(1) / p; }, v);                                   \
  }
#define GPUPORT_SIMT_TO_INTEGER(from, type, to, integer, mode, rounding)       \
  inline integer __##from##2##to##_##mode(type v) {                            \
    return gpuport::simt::convert<integer>(gpuport::simt::whole<rounding>(v)); \
  }
#define GPUPORT_SIMT_FROM_INTEGER(from, integer, to, type, mode, rounding)                 \
  inline type __##from##2##to##_##mode(integer v) {                                        \
    if constexpr (rounding == FE_TONEAREST) return type(v);                                \
    return gpuport::simt::rounded<rounding>([](integer given) { return type(given); }, v); \
  }
#define GPUPORT_SIMT_BETWEEN(name, integer, mode, rounding)              \
  GPUPORT_SIMT_TO_INTEGER(float, float, name, integer, mode, rounding)   \
  GPUPORT_SIMT_TO_INTEGER(double, double, name, integer, mode, rounding) \
  GPUPORT_SIMT_FROM_INTEGER(name, integer, float, float, mode, rounding)

#define GPUPORT_SIMT_ROUNDING(mode, rounding)                                                                    \
  GPUPORT_SIMT_ARITHMETIC(float, __fadd_, __fsub_, __fmul_, __fdiv_, __fmaf_, __fsqrt_, __frcp_, mode, rounding) \
  GPUPORT_SIMT_ARITHMETIC(double, __dadd_, __dsub_, __dmul_, __ddiv_, __fma_, __dsqrt_, __drcp_, mode, rounding) \
  GPUPORT_SIMT_BETWEEN(int, int, mode, rounding)                                                                 \
  GPUPORT_SIMT_BETWEEN(uint, unsigned, mode, rounding)                                                           \
  GPUPORT_SIMT_BETWEEN(ll, long long, mode, rounding)                                                            \
  GPUPORT_SIMT_BETWEEN(ull, unsigned long long, mode, rounding)                                                  \
  GPUPORT_SIMT_FROM_INTEGER(ll, long long, double, double, mode, rounding)                                       \
  GPUPORT_SIMT_FROM_INTEGER(ull, unsigned long long, double, double, mode, rounding)                             \
  GPUPORT_SIMT_FROM_INTEGER(double, double, float, float, mode, rounding)
GPUPORT_SIMT_ROUNDING(rn, FE_TONEAREST)
GPUPORT_SIMT_ROUNDING(rz, FE_TOWARDZERO)
GPUPORT_SIMT_ROUNDING(ru, FE_UPWARD)
GPUPORT_SIMT_ROUNDING(rd, FE_DOWNWARD)
#undef GPUPORT_SIMT_ROUNDING
#undef GPUPORT_SIMT_BETWEEN
#undef GPUPORT_SIMT_FROM_INTEGER
#undef GPUPORT_SIMT_TO_INTEGER
#undef GPUPORT_SIMT_ARITHMETIC

inline double __int2double_rn(int v) { return v; }
inline double __uint2double_rn(unsigned v) { return v; }
// Wide enough that rounding twice does not show.
inline float __frsqrt_rn(float v) { return float(1.0L / std::sqrt((long double)(v))); }
