// What the 16-bit floating-point types have in common: arithmetic in float, rounded after each operation.
#pragma once

#include "intrinsics.h"

namespace gpuport::simt {

inline unsigned short narrow_half(float value) {
  const unsigned bits = same_bits<unsigned>(value), sign = bits >> 16 & 0x8000u;
  unsigned size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return 0x7fff;                                        // NaN, CUDA's canonical one
  if (size >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);  // rounds to infinity
  if (size < 0x38800000u) {
    // Subnormal: adding 1/2 leaves the sum's last bit at 2^-24, and the addition rounds.
    const float shifted = same_bits<float>(size) + 0.5f;
    return static_cast<unsigned short>(sign | (same_bits<unsigned>(shifted) - 0x3f000000u));
  }
  size += 0xc8000fffu + (size >> 13 & 1u);
  return static_cast<unsigned short>(sign | size >> 13);
}
inline float widen_half(unsigned short half) {
  const unsigned sign = unsigned(half & 0x8000u) << 16, size = half & 0x7fffu;
  if (size >= 0x7c00u) return same_bits<float>(sign | 0x7f800000u | size << 13);
  // The exponent's bias changes by 112; as a product also right for subnormals.
  const float wide = same_bits<float>(size << 13) * same_bits<float>(0x77800000u);
  return same_bits<float>(sign | same_bits<unsigned>(wide));
}

inline unsigned short narrow_bfloat16(float value) {
  const unsigned bits = same_bits<unsigned>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline float widen_bfloat16(unsigned short value) { return same_bits<float>(unsigned(value) << 16); }

}  // namespace gpuport::simt

// A type of 16 bits, and its functions: `suffix` is what conversions call it.
#define GPUPORT_SIMT_NARROW(type, pair, suffix, narrow, widen)                                             \
  struct type {                                                                                            \
    unsigned short __x;                                                                                    \
    type() = default;                                                                                      \
    template <typename T>                                                                                  \
      requires std::is_arithmetic_v<T>                                                                     \
    type(T value) : __x(gpuport::simt::narrow(float(value))) {}                                            \
    operator float() const { return gpuport::simt::widen(__x); }                                           \
    type& operator+=(type b) { return *this = type(float(*this) + float(b)); }                             \
    type& operator-=(type b) { return *this = type(float(*this) - float(b)); }                             \
    type& operator*=(type b) { return *this = type(float(*this) * float(b)); }                             \
    type& operator/=(type b) { return *this = type(float(*this) / float(b)); }                             \
  };                                                                                                       \
  struct alignas(4) pair {                                                                                 \
    type x, y;                                                                                             \
  };                                                                                                       \
  inline type operator+(type a, type b) { return type(float(a) + float(b)); }                              \
  inline type operator-(type a, type b) { return type(float(a) - float(b)); }                              \
  inline type operator*(type a, type b) { return type(float(a) * float(b)); }                              \
  inline type operator/(type a, type b) { return type(float(a) / float(b)); }                              \
  inline type operator-(type a) { return type(-float(a)); }                                                \
  inline bool operator<(type a, type b) { return float(a) < float(b); }                                    \
  inline bool operator>(type a, type b) { return float(a) > float(b); }                                    \
  inline bool operator<=(type a, type b) { return float(a) <= float(b); }                                  \
  inline bool operator>=(type a, type b) { return float(a) >= float(b); }                                  \
  inline bool operator==(type a, type b) { return float(a) == float(b); }                                  \
  inline bool operator!=(type a, type b) { return float(a) != float(b); }                                  \
  inline pair operator+(pair a, pair b) { return {a.x + b.x, a.y + b.y}; }                                 \
  inline pair operator-(pair a, pair b) { return {a.x - b.x, a.y - b.y}; }                                 \
  inline pair operator*(pair a, pair b) { return {a.x * b.x, a.y * b.y}; }                                 \
  inline type __float2##suffix(float v) { return type(v); }                                                \
  inline type __float2##suffix##_rn(float v) { return type(v); }                                           \
  inline type __double2##suffix(double v) { return type(v); }                                              \
  inline type __int2##suffix##_rn(int v) { return type(v); }                                               \
  inline float __##suffix##2float(type v) { return float(v); }                                             \
  inline int __##suffix##2int_rn(type v) { return gpuport::simt::convert<int>(std::nearbyint(float(v))); } \
  inline int __##suffix##2int_rz(type v) { return gpuport::simt::convert<int>(std::trunc(float(v))); }     \
  inline unsigned short __##suffix##_as_ushort(type v) { return v.__x; }                                   \
  inline type __ushort_as_##suffix(unsigned short bits) {                                                  \
    type v;                                                                                                \
    v.__x = bits;                                                                                          \
    return v;                                                                                              \
  }                                                                                                        \
  inline type __hadd(type a, type b) { return a + b; }                                                     \
  inline type __hsub(type a, type b) { return a - b; }                                                     \
  inline type __hmul(type a, type b) { return a * b; }                                                     \
  inline type __hdiv(type a, type b) { return a / b; }                                                     \
  inline type __hfma(type a, type b, type c) { return type(std::fma(float(a), float(b), float(c))); }      \
  inline type __hneg(type a) { return -a; }                                                                \
  inline type __habs(type a) { return type(std::fabs(float(a))); }                                         \
  inline type __hmax(type a, type b) { return type(std::fmax(float(a), float(b))); }                       \
  inline type __hmin(type a, type b) { return type(std::fmin(float(a), float(b))); }                       \
  inline bool __hisnan(type a) { return std::isnan(float(a)); }                                            \
  inline bool __heq(type a, type b) { return a == b; }                                                     \
  inline bool __hne(type a, type b) { return a != b; }                                                     \
  inline bool __hlt(type a, type b) { return a < b; }                                                      \
  inline bool __hle(type a, type b) { return a <= b; }                                                     \
  inline bool __hgt(type a, type b) { return a > b; }                                                      \
  inline bool __hge(type a, type b) { return a >= b; }                                                     \
  inline type hexp(type v) { return type(std::exp(float(v))); }                                            \
  inline type hlog(type v) { return type(std::log(float(v))); }                                            \
  inline type hsqrt(type v) { return type(std::sqrt(float(v))); }                                          \
  inline type hrsqrt(type v) { return type(1.0f / std::sqrt(float(v))); }                                  \
  inline type hrcp(type v) { return type(1.0f / float(v)); }                                               \
  inline type hsin(type v) { return type(std::sin(float(v))); }                                            \
  inline type hcos(type v) { return type(std::cos(float(v))); }                                            \
  inline type htanh(type v) { return type(std::tanh(float(v))); }                                          \
  inline pair __hadd2(pair a, pair b) { return a + b; }                                                    \
  inline pair __hsub2(pair a, pair b) { return a - b; }                                                    \
  inline pair __hmul2(pair a, pair b) { return a * b; }                                                    \
  inline pair __hfma2(pair a, pair b, pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }   \
  inline type atomicAdd(type* address, type value) {                                                       \
    auto* const word = reinterpret_cast<unsigned short*>(address);                                         \
    return __ushort_as_##suffix(gpuport::simt::update(                                                     \
        word, [value](unsigned short before) { return (__ushort_as_##suffix(before) + value).__x; }));     \
  }
