// Special functions that CUDA has and the host's <math.h> has not.
#pragma once

#include <math.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace gpuport::simt {

inline constexpr double kTwoOverSqrtPi = 1.12837916709551257390, kSqrtHalf = 0.70710678118654752440;

// Halley's steps for `error(x) = 0`, where the derivative of what is solved for is -+2/sqrt(pi) exp(-x x).
template <typename Error>
inline double halley(double x, Error error) {
  for (int step = 0; step < 3; ++step) {
    const double newton = error(x) / (kTwoOverSqrtPi * std::exp(-x * x));
    x += newton / (1 - x * newton);
  }
  return x;
}
// x with erfc(x) = q for 0 < q <= 1, to within 0.003 or so before the steps.
inline double positive_erfcinv(double q) {
  const double t = std::sqrt(-2 * std::log(q / 2));
  const double start = kSqrtHalf * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
  return halley(start, [q](double x) { return std::erfc(x) - q; });
}

}  // namespace gpuport::simt

inline double erfinv(double y) {
  const double size = std::fabs(y);
  if (!(size <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (size == 1) return std::copysign(HUGE_VAL, y);
  if (size > 0.5) return std::copysign(gpuport::simt::positive_erfcinv(1 - size), y);
  if (size < 1e-150) return y / gpuport::simt::kTwoOverSqrtPi;
  return std::copysign(
      gpuport::simt::halley(size / gpuport::simt::kTwoOverSqrtPi, [size](double x) { return size - std::erf(x); }), y);
}
inline double erfcinv(double q) {
  if (!(q >= 0 && q <= 2)) return std::numeric_limits<double>::quiet_NaN();
  if (q == 0 || q == 2) return q == 0 ? HUGE_VAL : -HUGE_VAL;
  if (q > 0.5 && q < 1.5) return erfinv(1 - q);
  return q < 1 ? gpuport::simt::positive_erfcinv(q) : -gpuport::simt::positive_erfcinv(2 - q);
}
inline double normcdf(double v) { return 0.5 * std::erfc(-v * gpuport::simt::kSqrtHalf); }
inline double normcdfinv(double p) { return -erfcinv(2 * p) / gpuport::simt::kSqrtHalf; }
// exp(x x) erfc(x), where the product of both would overflow times vanish.
inline double erfcx(double v) {
  if (v < 25) {
    const double square = v * v, rest = std::fma(v, v, -square);
    return std::exp(square) * std::erfc(v) * (std::isfinite(rest) ? 1 + rest : 1);
  }
  double fraction = v;
  for (int i = 20; i > 0; --i) fraction = v + 0.5 * i / fraction;
  return 0.5 * gpuport::simt::kTwoOverSqrtPi / fraction;
}
// The even and the odd modified Bessel function; the host's takes no negative argument, and past 713 the result is
// infinite.
inline double cyl_bessel_i0(double v) {
  if (std::isnan(v)) return v;
  return std::fabs(v) > 713.98 ? HUGE_VAL : std::cyl_bessel_i(0.0, std::fabs(v));
}
inline double cyl_bessel_i1(double v) {
  if (std::isnan(v)) return v;
  return std::copysign(std::fabs(v) > 713.98 ? HUGE_VAL : std::cyl_bessel_i(1.0, std::fabs(v)), v);
}

#define GPUPORT_SIMT_SINGLE(name) \
  inline float name##f(float v) { return float(name(double(v))); }
GPUPORT_SIMT_SINGLE(erfcinv)
GPUPORT_SIMT_SINGLE(erfinv)
GPUPORT_SIMT_SINGLE(normcdf)
GPUPORT_SIMT_SINGLE(normcdfinv)
GPUPORT_SIMT_SINGLE(erfcx)
GPUPORT_SIMT_SINGLE(cyl_bessel_i0)
GPUPORT_SIMT_SINGLE(cyl_bessel_i1)
#undef GPUPORT_SIMT_SINGLE
#define GPUPORT_SIMT_OVERLOAD(name) \
  inline float name(float v) { return name##f(v); }
GPUPORT_SIMT_OVERLOAD(erfcinv)
GPUPORT_SIMT_OVERLOAD(erfinv)
GPUPORT_SIMT_OVERLOAD(normcdf)
GPUPORT_SIMT_OVERLOAD(normcdfinv)
GPUPORT_SIMT_OVERLOAD(erfcx)
#undef GPUPORT_SIMT_OVERLOAD

namespace gpuport::simt {
// Scaled by a power of two, so that squares neither overflow nor vanish.
template <typename T>
inline T norm_of(int count, const T* values) {
  T most = 0;
  for (int i = 0; i < count; ++i) {
    if (std::isinf(values[i])) return std::numeric_limits<T>::infinity();
    if (!(std::fabs(values[i]) <= most)) most = std::fabs(values[i]);
  }
  if (!(most > 0)) return most;
  const int scale = std::ilogb(most);
  long double sum = 0;
  for (int i = 0; i < count; ++i) {
    const long double part = std::scalbn((long double)(values[i]), -scale);
    sum += part * part;
  }
  return T(std::scalbn(std::sqrt(sum), scale));
}
}  // namespace gpuport::simt
#define GPUPORT_SIMT_NORMS(type, suffix)                                                                         \
  inline type norm##suffix(int count, const type* values) { return gpuport::simt::norm_of(count, values); }      \
  inline type rnorm##suffix(int count, const type* values) { return 1 / gpuport::simt::norm_of(count, values); } \
  inline type norm3d##suffix(type a, type b, type c) {                                                           \
    const type values[] = {a, b, c};                                                                             \
    return gpuport::simt::norm_of(3, values);                                                                    \
  }                                                                                                              \
  inline type rnorm3d##suffix(type a, type b, type c) { return 1 / norm3d##suffix(a, b, c); }                    \
  inline type norm4d##suffix(type a, type b, type c, type d) {                                                   \
    const type values[] = {a, b, c, d};                                                                          \
    return gpuport::simt::norm_of(4, values);                                                                    \
  }                                                                                                              \
  inline type rnorm4d##suffix(type a, type b, type c, type d) { return 1 / norm4d##suffix(a, b, c, d); }         \
  inline type rhypot##suffix(type a, type b) { return 1 / std::hypot(a, b); }
GPUPORT_SIMT_NORMS(double, )
GPUPORT_SIMT_NORMS(float, f)
#undef GPUPORT_SIMT_NORMS
