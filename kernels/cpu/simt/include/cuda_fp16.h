// Half precision: arithmetic in float, rounded to nearest even after each operation, as on the GPU.
#pragma once

#include "cuda_runtime.h"
#include "gpuport_simt/narrow_float.h"
#include "gpuport_simt/narrow_math.h"

GPUPORT_SIMT_NARROW(__half, __half2, half, narrow_half, widen_half)
GPUPORT_SIMT_NARROW_MATH(__half, __half2, half)
using half = __half;
using half2 = __half2;

inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline float __low2float(__half2 v) { return float(v.x); }
inline float __high2float(__half2 v) { return float(v.y); }
inline __half2 __half2half2(__half v) { return {v, v}; }
inline __half2 __float2half2_rn(float v) { return {__half(v), __half(v)}; }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
