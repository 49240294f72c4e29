// Mathematics that CUDA has and <cmath> has not, or has under another name. Approximate functions are exact ones here.
#pragma once

#include <math.h>

#include <cmath>
#include <cstdlib>
#include <type_traits>

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
inline float rhypotf(float a, float b) { return 1.0f / std::hypot(a, b); }
inline double rhypot(double a, double b) { return 1.0 / std::hypot(a, b); }
inline float norm3df(float a, float b, float c) { return std::hypot(a, b, c); }
inline double norm3d(double a, double b, double c) { return std::hypot(a, b, c); }
inline float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
inline double normcdf(double v) { return 0.5 * std::erfc(-v * 0.70710678118654752440); }
inline float normcdff(float v) { return float(normcdf(double(v))); }
inline double erfcx(double v) { return std::exp(v * v) * std::erfc(v); }

// Rounding to nearest is how the host computes; the compiler must still not fuse these into a multiply-add.
#define GPUPORT_SIMT_ROUNDED(name, type, expression) \
  __attribute__((noinline)) inline type name(type a, type b) { return expression; }
GPUPORT_SIMT_ROUNDED(__fadd_rn, float, a + b)
GPUPORT_SIMT_ROUNDED(__fsub_rn, float, a - b)
GPUPORT_SIMT_ROUNDED(__fmul_rn, float, a* b)
GPUPORT_SIMT_ROUNDED(__fdiv_rn, float, a / b)
GPUPORT_SIMT_ROUNDED(__dadd_rn, double, a + b)
GPUPORT_SIMT_ROUNDED(__dsub_rn, double, a - b)
GPUPORT_SIMT_ROUNDED(__dmul_rn, double, a* b)
GPUPORT_SIMT_ROUNDED(__ddiv_rn, double, a / b)
#undef GPUPORT_SIMT_ROUNDED
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float v) { return std::sqrt(v); }
inline double __dsqrt_rn(double v) { return std::sqrt(v); }
inline float __frcp_rn(float v) { return 1.0f / v; }
inline double __drcp_rn(double v) { return 1.0 / v; }
inline float __frsqrt_rn(float v) { return float(1.0 / std::sqrt(double(v))); }

namespace gpuport::simt {
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
}  // namespace gpuport::simt
inline int __float2int_rn(float v) { return gpuport::simt::convert<int>(std::nearbyint(v)); }
inline int __float2int_rz(float v) { return gpuport::simt::convert<int>(std::trunc(v)); }
inline int __float2int_ru(float v) { return gpuport::simt::convert<int>(std::ceil(v)); }
inline int __float2int_rd(float v) { return gpuport::simt::convert<int>(std::floor(v)); }
inline unsigned __float2uint_rn(float v) { return gpuport::simt::convert<unsigned>(std::nearbyint(v)); }
inline unsigned __float2uint_rz(float v) { return gpuport::simt::convert<unsigned>(std::trunc(v)); }
inline long long __float2ll_rn(float v) { return gpuport::simt::convert<long long>(std::nearbyint(v)); }
inline long long __float2ll_rz(float v) { return gpuport::simt::convert<long long>(std::trunc(v)); }
inline int __double2int_rn(double v) { return gpuport::simt::convert<int>(std::nearbyint(v)); }
inline int __double2int_rz(double v) { return gpuport::simt::convert<int>(std::trunc(v)); }
inline long long __double2ll_rn(double v) { return gpuport::simt::convert<long long>(std::nearbyint(v)); }
inline long long __double2ll_rz(double v) { return gpuport::simt::convert<long long>(std::trunc(v)); }
inline float __int2float_rn(int v) { return float(v); }
inline float __uint2float_rn(unsigned v) { return float(v); }
inline float __ll2float_rn(long long v) { return float(v); }
inline double __int2double_rn(int v) { return double(v); }
inline double __ll2double_rn(long long v) { return double(v); }
inline float __double2float_rn(double v) { return float(v); }

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
