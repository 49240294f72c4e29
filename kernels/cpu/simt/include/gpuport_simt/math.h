// Mathematics that CUDA has and <cmath> has not, or has under another name. Approximate functions are exact ones here.
#pragma once

#include <math.h>

#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "rounding.h"
#include "special_functions.h"

inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }
inline float rsqrt(float v) { return rsqrtf(v); }
inline float rcbrtf(float v) { return 1.0f / std::cbrt(v); }
inline double rcbrt(double v) { return 1.0 / std::cbrt(v); }
inline float __saturatef(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }  // NaN becomes 0, as on the GPU
inline float fdividef(float a, float b) { return a / b; }

inline float __expf(float v) { return std::exp(v); }
inline float __exp2f(float v) { return std::exp2(v); }
inline float __exp10f(float v) { return std::exp2(v * 3.32192809488736f); }
inline float __logf(float v) { return std::log(v); }
inline float __log2f(float v) { return std::log2(v); }
inline float __log10f(float v) { return std::log10(v); }
inline float __powf(float a, float b) { return std::pow(a, b); }
inline float __sinf(float v) { return std::sin(v); }
inline float __cosf(float v) { return std::cos(v); }
inline float __tanf(float v) { return std::tan(v); }
inline float __fdividef(float a, float b) { return a / b; }

inline void __sincosf(float v, float* sine, float* cosine) { *sine = std::sin(v), *cosine = std::cos(v); }

namespace gpuport::simt {
inline constexpr double kPi = 3.14159265358979323846;
// The argument in half turns: exact at every multiple of a quarter turn.
template <typename T>
inline T sine_of_half_turns(T v) {
  const T rest = std::remainder(v, T(2));
  if (std::fabs(rest) == T(1) || rest == 0) return std::copysign(T(0), v);
  if (std::fabs(rest) == T(0.5)) return std::copysign(T(1), rest);
  return T(std::sin(double(rest) * kPi));
}
}  // namespace gpuport::simt
inline float sinpif(float v) { return gpuport::simt::sine_of_half_turns(v); }
inline double sinpi(double v) { return gpuport::simt::sine_of_half_turns(v); }
inline float cospif(float v) { return gpuport::simt::sine_of_half_turns(std::fabs(std::remainder(v, 2.0f)) + 0.5f); }
inline double cospi(double v) { return gpuport::simt::sine_of_half_turns(std::fabs(std::remainder(v, 2.0)) + 0.5); }
inline void sincospif(float v, float* sine, float* cosine) { *sine = sinpif(v), *cosine = cospif(v); }
inline void sincospi(double v, double* sine, double* cosine) { *sine = sinpi(v), *cosine = cospi(v); }
// CUDA's overloads at global scope. A mixed pair takes the usual conversions: min(unsigned, int) is unsigned.
template <typename A, typename B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return T(std::fmin(T(a), T(b)));
  else
    return T(a) < T(b) ? T(a) : T(b);
}
template <typename A, typename B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return T(std::fmax(T(a), T(b)));
  else
    return T(a) < T(b) ? T(b) : T(a);
}
#define GPUPORT_SIMT_ORDER(prefix, type)                               \
  constexpr type prefix##min(type a, type b) { return a < b ? a : b; } \
  constexpr type prefix##max(type a, type b) { return a < b ? b : a; }
GPUPORT_SIMT_ORDER(u, unsigned)
GPUPORT_SIMT_ORDER(ll, long long)
GPUPORT_SIMT_ORDER(ull, unsigned long long)
#undef GPUPORT_SIMT_ORDER
