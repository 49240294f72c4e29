// Complex numbers as CUDA writes them.
#pragma once

#include "cuda_runtime.h"

using cuFloatComplex = float2;
inline float cuCrealf(cuFloatComplex v) { return v.x; }
inline float cuCimagf(cuFloatComplex v) { return v.y; }
inline cuFloatComplex make_cuFloatComplex(float real, float imaginary) { return {real, imaginary}; }
inline cuFloatComplex cuConjf(cuFloatComplex v) { return {v.x, -v.y}; }
inline cuFloatComplex cuCaddf(cuFloatComplex a, cuFloatComplex b) { return {a.x + b.x, a.y + b.y}; }
inline cuFloatComplex cuCsubf(cuFloatComplex a, cuFloatComplex b) { return {a.x - b.x, a.y - b.y}; }
inline cuFloatComplex cuCmulf(cuFloatComplex a, cuFloatComplex b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
inline cuFloatComplex cuCdivf(cuFloatComplex a, cuFloatComplex b) {
  // Scaled, so that the squares of large parts do not overflow.
  const float scale = std::fabs(b.x) + std::fabs(b.y);
  const float ax = a.x / scale, ay = a.y / scale, bx = b.x / scale, by = b.y / scale;
  const float squared = bx * bx + by * by;
  return {(ax * bx + ay * by) / squared, (ay * bx - ax * by) / squared};
}
inline float cuCabsf(cuFloatComplex v) { return std::hypot(v.x, v.y); }
inline cuFloatComplex cuCfmaf(cuFloatComplex a, cuFloatComplex b, cuFloatComplex c) {
  return cuCaddf(cuCmulf(a, b), c);
}

using cuDoubleComplex = double2;
inline double cuCreal(cuDoubleComplex v) { return v.x; }
inline double cuCimag(cuDoubleComplex v) { return v.y; }
inline cuDoubleComplex make_cuDoubleComplex(double real, double imaginary) { return {real, imaginary}; }
inline cuDoubleComplex cuConj(cuDoubleComplex v) { return {v.x, -v.y}; }
inline cuDoubleComplex cuCadd(cuDoubleComplex a, cuDoubleComplex b) { return {a.x + b.x, a.y + b.y}; }
inline cuDoubleComplex cuCsub(cuDoubleComplex a, cuDoubleComplex b) { return {a.x - b.x, a.y - b.y}; }
inline cuDoubleComplex cuCmul(cuDoubleComplex a, cuDoubleComplex b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
inline cuDoubleComplex cuCdiv(cuDoubleComplex a, cuDoubleComplex b) {
  // Scaled, so that the squares of large parts do not overflow.
  const double scale = std::fabs(b.x) + std::fabs(b.y);
  const double ax = a.x / scale, ay = a.y / scale, bx = b.x / scale, by = b.y / scale;
  const double squared = bx * bx + by * by;
  return {(ax * bx + ay * by) / squared, (ay * bx - ax * by) / squared};
}
inline double cuCabs(cuDoubleComplex v) { return std::hypot(v.x, v.y); }
inline cuDoubleComplex cuCfma(cuDoubleComplex a, cuDoubleComplex b, cuDoubleComplex c) {
  return cuCadd(cuCmul(a, b), c);
}

using cuComplex = cuFloatComplex;
inline cuComplex make_cuComplex(float real, float imaginary) { return {real, imaginary}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex v) { return {v.x, v.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex v) { return {float(v.x), float(v.y)}; }
