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
#define GPUPORT_SIMT_NARROW(type, pair, suffix, narrow, widen)                                         \
  struct type {                                                                                        \
    unsigned short __x;                                                                                \
    type() = default;                                                                                  \
    template <typename T>                                                                              \
      requires std::is_arithmetic_v<T>                                                                 \
    type(T value) : __x(gpuport::simt::narrow(float(value))) {}                                        \
    operator float() const { return gpuport::simt::widen(__x); }                                       \
    type& operator+=(type b) { return *this = type(float(*this) + float(b)); }                         \
    type& operator-=(type b) { return *this = type(float(*this) - float(b)); }                         \
    type& operator*=(type b) { return *this = type(float(*this) * float(b)); }                         \
    type& operator/=(type b) { return *this = type(float(*this) / float(b)); }                         \
  };                                                                                                   \
  struct alignas(4) pair {                                                                             \
    type x, y;                                                                                         \
  };                                                                                                   \
  inline type operator+(type a, type b) { return type(float(a) + float(b)); }                          \
  inline type operator-(type a, type b) { return type(float(a) - float(b)); }                          \
  inline type operator*(type a, type b) { return type(float(a) * float(b)); }                          \
  inline type operator/(type a, type b) { return type(float(a) / float(b)); }                          \
  inline type operator-(type a) { return type(-float(a)); }                                            \
  inline bool operator<(type a, type b) { return float(a) < float(b); }                                \
  inline bool operator>(type a, type b) { return float(a) > float(b); }                                \
  inline bool operator<=(type a, type b) { return float(a) <= float(b); }                              \
  inline bool operator>=(type a, type b) { return float(a) >= float(b); }                              \
  inline bool operator==(type a, type b) { return float(a) == float(b); }                              \
  inline bool operator!=(type a, type b) { return float(a) != float(b); }                              \
  inline pair operator+(pair a, pair b) { return {a.x + b.x, a.y + b.y}; }                             \
  inline pair operator-(pair a, pair b) { return {a.x - b.x, a.y - b.y}; }                             \
  inline pair operator*(pair a, pair b) { return {a.x * b.x, a.y * b.y}; }                             \
  inline type __float2##suffix(float v) { return type(v); }                                            \
  inline float __##suffix##2float(type v) { return float(v); }                                         \
  inline unsigned short __##suffix##_as_ushort(type v) { return v.__x; }                               \
  inline type __ushort_as_##suffix(unsigned short bits) {                                              \
    type v;                                                                                            \
    v.__x = bits;                                                                                      \
    return v;                                                                                          \
  }                                                                                                    \
  inline type atomicAdd(type* address, type value) {                                                   \
    auto* const word = reinterpret_cast<unsigned short*>(address);                                     \
    return __ushort_as_##suffix(gpuport::simt::update(                                                 \
        word, [value](unsigned short before) { return (__ushort_as_##suffix(before) + value).__x; })); \
  }
