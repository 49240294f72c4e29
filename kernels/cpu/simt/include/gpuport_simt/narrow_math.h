// The functions of the 16-bit floating-point types and of their pairs, beyond arithmetic. What is not exact in float is
// rounded to odd first, so that the one rounding that shows is the last.
#pragma once

#include "math.h"
#include "narrow_float.h"

namespace gpuport::simt {

// `nearest` as the float next to `exact` in the direction of zero, with a last bit that says that something is missing.
template <typename Exact>
inline float odd(float nearest, Exact exact) {
  const Exact found = Exact(nearest);
  if (found == exact) return nearest;
  const bool past = exact < 0 ? found < exact : found > exact;
  return same_bits<float>((same_bits<unsigned>(nearest) - past) | 1u);
}
inline float odd_float(double v) { return std::isfinite(v) ? odd(float(v), v) : float(v); }
template <typename T>
inline float odd_float_of_integer(T v) {
  return odd(float(v), __int128(v));
}
// a * b + c of numbers of 16 bits. The product is exact in a double; the sum's error says which way the rest lies.
inline float odd_fma(float a, float b, float c) {
  const double product = double(a) * b, sum = product + c;
  if (!std::isfinite(sum)) return float(sum);
  const double of_c = sum - product, rest = (product - (sum - of_c)) + (c - of_c);
  if (rest == 0) return odd_float(sum);
  double cut = sum;
  if ((rest < 0) == (sum > 0)) cut = std::nextafter(sum, 0.0);
  return odd_float(same_bits<double>(same_bits<unsigned long long>(cut) | 1u));
}

// The neighbour of a nearest value in the wanted direction, where the value is not exact.
template <int kMode, typename T>
inline T directed(T nearest, float wanted) {
  const float found = float(nearest);
  if (kMode == FE_TONEAREST || found == wanted || wanted != wanted) return nearest;
  const bool up = kMode == FE_UPWARD || (kMode == FE_TOWARDZERO && wanted < 0);
  if (up ? found > wanted : found < wanted) return nearest;
  const bool away = up == !(nearest.__x & 0x8000u);
  if (nearest.__x == (up ? 0x8000u : 0u))
    nearest.__x = up ? 0x0001u : 0x8001u;  // across zero
  else
    nearest.__x = static_cast<unsigned short>(away ? nearest.__x + 1 : nearest.__x - 1);
  return nearest;
}

template <typename T>
inline T saturated_unit(T v) {
  return T(__saturatef(float(v)));
}
template <typename T>
inline T not_negative(T v) {
  return float(v) > 0 || std::isnan(float(v)) ? v : T(0.0f);
}

}  // namespace gpuport::simt

#define GPUPORT_SIMT_NARROW_MODE(type, suffix, mode, rounding)                                             \
  inline type __float2##suffix##_##mode(float v) { return gpuport::simt::directed<rounding>(type(v), v); } \
  GPUPORT_SIMT_NARROW_INTEGER(type, suffix, int, int, mode, rounding)                                      \
  GPUPORT_SIMT_NARROW_INTEGER(type, suffix, uint, unsigned, mode, rounding)                                \
  GPUPORT_SIMT_NARROW_INTEGER(type, suffix, short, short, mode, rounding)                                  \
  GPUPORT_SIMT_NARROW_INTEGER(type, suffix, ushort, unsigned short, mode, rounding)                        \
  GPUPORT_SIMT_NARROW_INTEGER(type, suffix, ll, long long, mode, rounding)                                 \
  GPUPORT_SIMT_NARROW_INTEGER(type, suffix, ull, unsigned long long, mode, rounding)
#define GPUPORT_SIMT_NARROW_INTEGER(type, suffix, name, integer, mode, rounding)      \
  inline integer __##suffix##2##name##_##mode(type v) {                               \
    return gpuport::simt::convert<integer>(gpuport::simt::whole<rounding>(float(v))); \
  }                                                                                   \
  inline type __##name##2##suffix##_##mode(integer v) {                               \
    const float odd = gpuport::simt::odd_float_of_integer(v);                         \
    return gpuport::simt::directed<rounding>(type(odd), odd);                         \
  }
#define GPUPORT_SIMT_NARROW_UNARY(type, pair, name, pair_name, expression) \
  inline type name(type a) { return type(expression); }                    \
  inline pair pair_name(pair v) { return {name(v.x), name(v.y)}; }
#define GPUPORT_SIMT_NARROW_BINARY(type, pair, name, pair_name, expression) \
  inline type name(type a, type b) { return expression; }                   \
  inline pair pair_name(pair a, pair b) { return {name(a.x, b.x), name(a.y, b.y)}; }
// A comparison of one; of two as 1 and 0, as masks, and of both at once. `u`: true also of NaN.
#define GPUPORT_SIMT_NARROW_ORDER(type, pair, name, expression, unordered) \
  inline bool __h##name(type x, type y) {                                  \
    const float a = x, b = y;                                              \
    return expression;                                                     \
  }                                                                        \
  inline bool __h##name##u(type x, type y) {                               \
    const float a = x, b = y;                                              \
    return unordered;                                                      \
  }                                                                        \
  GPUPORT_SIMT_NARROW_ORDER2(type, pair, name)                             \
  GPUPORT_SIMT_NARROW_ORDER2(type, pair, name##u)
#define GPUPORT_SIMT_NARROW_ORDER2(type, pair, name)                                                          \
  inline pair __h##name##2(pair a, pair b) { return {type(__h##name(a.x, b.x)), type(__h##name(a.y, b.y))}; } \
  inline unsigned __h##name##2_mask(pair a, pair b) {                                                         \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);                   \
  }                                                                                                           \
  inline bool __hb##name##2(pair a, pair b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }

#define GPUPORT_SIMT_NARROW_MATH(type, pair, suffix)                                                                 \
  GPUPORT_SIMT_NARROW_MODE(type, suffix, rn, FE_TONEAREST)                                                           \
  GPUPORT_SIMT_NARROW_MODE(type, suffix, rz, FE_TOWARDZERO)                                                          \
  GPUPORT_SIMT_NARROW_MODE(type, suffix, ru, FE_UPWARD)                                                              \
  GPUPORT_SIMT_NARROW_MODE(type, suffix, rd, FE_DOWNWARD)                                                            \
  inline type __double2##suffix(double v) { return type(gpuport::simt::odd_float(v)); }                              \
  inline signed char __##suffix##2char_rz(type v) {                                                                  \
    return gpuport::simt::convert<signed char>(std::trunc(float(v)));                                                \
  }                                                                                                                  \
  inline unsigned char __##suffix##2uchar_rz(type v) {                                                               \
    return gpuport::simt::convert<unsigned char>(std::trunc(float(v)));                                              \
  }                                                                                                                  \
  inline short __##suffix##_as_short(type v) { return short(v.__x); }                                                \
  inline type __short_as_##suffix(short bits) { return __ushort_as_##suffix((unsigned short)(bits)); }               \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hadd, __hadd2, a + b)                                                     \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hsub, __hsub2, a - b)                                                     \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hmul, __hmul2, a* b)                                                      \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hdiv, __h2div, a / b)                                                     \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hadd_rn, __hadd2_rn, a + b)                                               \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hsub_rn, __hsub2_rn, a - b)                                               \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hmul_rn, __hmul2_rn, a* b)                                                \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hadd_sat, __hadd2_sat, gpuport::simt::saturated_unit(a + b))              \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hsub_sat, __hsub2_sat, gpuport::simt::saturated_unit(a - b))              \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hmul_sat, __hmul2_sat, gpuport::simt::saturated_unit(a* b))               \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hmax, __hmax2, type(std::fmax(float(a), float(b))))                       \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hmin, __hmin2, type(std::fmin(float(a), float(b))))                       \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hmax_nan, __hmax2_nan,                                                    \
                             float(a) != float(a) || float(b) != float(b) ? type(NAN) : __hmax(a, b))                \
  GPUPORT_SIMT_NARROW_BINARY(type, pair, __hmin_nan, __hmin2_nan,                                                    \
                             float(a) != float(a) || float(b) != float(b) ? type(NAN) : __hmin(a, b))                \
  inline type __hfma(type a, type b, type c) { return type(gpuport::simt::odd_fma(a, b, c)); }                       \
  inline type __hfma_sat(type a, type b, type c) { return gpuport::simt::saturated_unit(__hfma(a, b, c)); }          \
  inline type __hfma_relu(type a, type b, type c) { return gpuport::simt::not_negative(__hfma(a, b, c)); }           \
  inline pair __hfma2(pair a, pair b, pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }             \
  inline pair __hfma2_sat(pair a, pair b, pair c) { return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)}; } \
  inline pair __hfma2_relu(pair a, pair b, pair c) {                                                                 \
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};                                                 \
  }                                                                                                                  \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, __hneg, __hneg2, -a)                                                         \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, __habs, __habs2, std::fabs(float(a)))                                        \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hceil, h2ceil, std::ceil(float(a)))                                          \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hfloor, h2floor, std::floor(float(a)))                                       \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hrint, h2rint, std::nearbyint(float(a)))                                     \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, htrunc, h2trunc, std::trunc(float(a)))                                       \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hexp, h2exp, std::exp(float(a)))                                             \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hexp2, h2exp2, std::exp2(float(a)))                                          \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hexp10, h2exp10, ::exp10(double(float(a))))                                  \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hlog, h2log, std::log(float(a)))                                             \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hlog2, h2log2, std::log2(float(a)))                                          \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hlog10, h2log10, std::log10(float(a)))                                       \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hsqrt, h2sqrt, std::sqrt(float(a)))                                          \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hrsqrt, h2rsqrt, 1.0f / std::sqrt(float(a)))                                 \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hrcp, h2rcp, 1.0f / float(a))                                                \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hsin, h2sin, std::sin(float(a)))                                             \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, hcos, h2cos, std::cos(float(a)))                                             \
  GPUPORT_SIMT_NARROW_UNARY(type, pair, htanh, h2tanh, std::tanh(float(a)))                                          \
  inline bool __hisnan(type a) { return std::isnan(float(a)); }                                                      \
  inline int __hisinf(type a) { return !std::isinf(float(a)) ? 0 : float(a) < 0 ? -1 : 1; }                          \
  inline pair __hisnan2(pair v) { return {type(__hisnan(v.x)), type(__hisnan(v.y))}; }                               \
  GPUPORT_SIMT_NARROW_ORDER(type, pair, eq, a == b, !(a < b || a > b))                                               \
  GPUPORT_SIMT_NARROW_ORDER(type, pair, ne, a<b || a> b, a != b)                                                     \
  GPUPORT_SIMT_NARROW_ORDER(type, pair, lt, a < b, !(a >= b))                                                        \
  GPUPORT_SIMT_NARROW_ORDER(type, pair, le, a <= b, !(a > b))                                                        \
  GPUPORT_SIMT_NARROW_ORDER(type, pair, gt, a > b, !(a <= b))                                                        \
  GPUPORT_SIMT_NARROW_ORDER(type, pair, ge, a >= b, !(a < b))                                                        \
  inline pair operator/(pair a, pair b) { return {a.x / b.x, a.y / b.y}; }                                           \
  inline pair operator-(pair v) { return {-v.x, -v.y}; }                                                             \
  inline pair& operator+=(pair& a, pair b) { return a = a + b; }                                                     \
  inline pair& operator-=(pair& a, pair b) { return a = a - b; }                                                     \
  inline pair& operator*=(pair& a, pair b) { return a = a * b; }                                                     \
  inline pair& operator/=(pair& a, pair b) { return a = a / b; }                                                     \
  inline bool operator==(pair a, pair b) { return __hbeq2(a, b); }                                                   \
  inline bool operator!=(pair a, pair b) { return __hbneu2(a, b); }                                                  \
  inline pair __lows2##suffix##2(pair a, pair b) { return {a.x, b.x}; }                                              \
  inline pair __highs2##suffix##2(pair a, pair b) { return {a.y, b.y}; }                                             \
  inline pair __lowhigh2highlow(pair v) { return {v.y, v.x}; }                                                       \
  inline pair __low2##suffix##2(pair v) { return {v.x, v.x}; }                                                       \
  inline pair __high2##suffix##2(pair v) { return {v.y, v.y}; }                                                      \
  inline pair atomicAdd(pair* address, pair value) {                                                                 \
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};                                       \
  }
