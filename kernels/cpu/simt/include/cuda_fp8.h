// The two 8-bit floating-point formats: numbers to store, converted from and to wider ones.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace gpuport::simt {

// To the nearest even. What is too large becomes the largest number, or without saturation an infinity; E4M3 has none
// and takes NaN.
inline unsigned char narrow_fp8(double v, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  const int digits = format == __NV_E4M3 ? 3 : 2, least = format == __NV_E4M3 ? -6 : -14;
  const double most = format == __NV_E4M3 ? 448 : 57344;
  const unsigned sign = std::signbit(v) ? 0x80u : 0u;
  const double size = std::fabs(v);
  if (v != v) return 0x7f;
  const unsigned largest = format == __NV_E4M3 ? 0x7eu : 0x7bu, past = format == __NV_E4M3 ? 0x7fu : 0x7cu;
  const int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  const double units = std::nearbyint(std::scalbn(size, digits - exponent));
  if (std::isinf(size) || std::scalbn(units, exponent - digits) > most)
    return static_cast<unsigned char>(sign | (saturation == __NV_SATFINITE ? largest : past));
  // A carry out of the digits goes on in the exponent.
  return static_cast<unsigned char>(sign | ((unsigned(exponent - least) << digits) + unsigned(units)));
}
inline float widen_fp8(unsigned char bits, __nv_fp8_interpretation_t format) {
  const int digits = format == __NV_E4M3 ? 3 : 2, least = format == __NV_E4M3 ? -6 : -14;
  const unsigned size = bits & 0x7fu;
  float v;
  if (format == __NV_E4M3 ? size == 0x7f : size > 0x7c)
    v = NAN;
  else if (format == __NV_E5M2 && size == 0x7c)
    v = INFINITY;
  else if (size >> digits == 0)
    v = std::scalbn(float(size), least - digits);
  else
    v = std::scalbn(float((size & ((1u << digits) - 1)) | 1u << digits), int(size >> digits) - 1 + least - digits);
  return bits & 0x80 ? -v : v;
}

template <__nv_fp8_interpretation_t kFormat>
struct Fp8 {
  __nv_fp8_storage_t __x;
  Fp8() = default;
  template <typename T>
    requires std::is_arithmetic_v<T>
  explicit Fp8(T v) : __x(narrow_fp8(double(v), __NV_SATFINITE, kFormat)) {}
  explicit Fp8(__half v) : Fp8(float(v)) {}
  explicit Fp8(__nv_bfloat16 v) : Fp8(float(v)) {}
  explicit operator float() const { return widen_fp8(__x, kFormat); }
  explicit operator double() const { return double(float(*this)); }
  explicit operator __half() const { return __half(float(*this)); }
  explicit operator __nv_bfloat16() const { return __nv_bfloat16(float(*this)); }
  explicit operator bool() const { return (__x & 0x7f) != 0; }
  explicit operator int() const { return convert<int>(std::trunc(float(*this))); }
};
template <__nv_fp8_interpretation_t kFormat>
struct Fp8x2 {
  __nv_fp8x2_storage_t __x;
  Fp8x2() = default;
  explicit Fp8x2(float2 v)
      : __x(static_cast<unsigned short>(narrow_fp8(v.x, __NV_SATFINITE, kFormat) |
                                        narrow_fp8(v.y, __NV_SATFINITE, kFormat) << 8)) {}
  explicit Fp8x2(__half2 v) : Fp8x2(__half22float2(v)) {}
  explicit operator float2() const {
    return {widen_fp8((unsigned char)(__x), kFormat), widen_fp8((unsigned char)(__x >> 8), kFormat)};
  }
  explicit operator __half2() const { return __float22half2_rn(float2(*this)); }
};
template <__nv_fp8_interpretation_t kFormat>
struct Fp8x4 {
  __nv_fp8x4_storage_t __x;
  Fp8x4() = default;
  explicit Fp8x4(float4 v)
      : __x(Fp8x2<kFormat>(float2{v.x, v.y}).__x | unsigned(Fp8x2<kFormat>(float2{v.z, v.w}).__x) << 16) {}
  explicit operator float4() const {
    Fp8x2<kFormat> low, high;
    low.__x = (unsigned short)(__x), high.__x = (unsigned short)(__x >> 16);
    const float2 a(low), b(high);
    return {a.x, a.y, b.x, b.y};
  }
};

}  // namespace gpuport::simt

using __nv_fp8_e4m3 = gpuport::simt::Fp8<__NV_E4M3>;
using __nv_fp8_e5m2 = gpuport::simt::Fp8<__NV_E5M2>;
using __nv_fp8x2_e4m3 = gpuport::simt::Fp8x2<__NV_E4M3>;
using __nv_fp8x2_e5m2 = gpuport::simt::Fp8x2<__NV_E5M2>;
using __nv_fp8x4_e4m3 = gpuport::simt::Fp8x4<__NV_E4M3>;
using __nv_fp8x4_e5m2 = gpuport::simt::Fp8x4<__NV_E5M2>;

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double v, __nv_saturation_t saturation,
                                                 __nv_fp8_interpretation_t format) {
  return gpuport::simt::narrow_fp8(v, saturation, format);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float v, __nv_saturation_t saturation,
                                                __nv_fp8_interpretation_t format) {
  return gpuport::simt::narrow_fp8(v, saturation, format);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t format) {
  return static_cast<__nv_fp8x2_storage_t>(gpuport::simt::narrow_fp8(v.x, saturation, format) |
                                           gpuport::simt::narrow_fp8(v.y, saturation, format) << 8);
}
