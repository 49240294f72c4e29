// CUDA's mathematical constants as HIP calls them, for versions of HIP without this header; where there is one, that is
// taken. The halves of constants (_HI, _LO) and the bounds of CUDA's own functions are not here.
#pragma once

#if defined(__has_include_next)
#if __has_include_next(<hip/hip_math_constants.h>)
#define GPUPORT_HIP_HAS_CONSTANTS
#include_next <hip/hip_math_constants.h>
#endif
#endif

#ifndef GPUPORT_HIP_HAS_CONSTANTS
#define HIP_INF_F __builtin_huge_valf()
#define HIP_NAN_F __builtin_nanf("")
#define HIP_MIN_DENORM_F 1.401298464e-45f
#define HIP_MAX_NORMAL_F 3.402823466e+38f
#define HIP_NEG_ZERO_F -0.0f
#define HIP_ZERO_F 0.0f
#define HIP_ONE_F 1.0f
#define HIP_THIRD_F 0.333333343f
#define HIP_SQRT_HALF_F 0.707106769f
#define HIP_SQRT_TWO_F 1.41421354f
#define HIP_PI_F 3.14159274f
#define HIP_PIO2_F 1.57079637f
#define HIP_PIO4_F 0.785398185f
#define HIP_3PIO4_F 2.3561945f
#define HIP_2_OVER_PI_F 0.636619747f
#define HIP_SQRT_2_OVER_PI_F 0.797884583f
#define HIP_L2E_F 1.44269502f
#define HIP_L2T_F 3.32192802f
#define HIP_LGE_F 0.434294492f
#define HIP_LG2_F 0.30103001f
#define HIP_LN2_F 0.693147182f
#define HIP_LNT_F 2.30258512f
#define HIP_LNPI_F 1.14472985f
#define HIP_TWO_TO_23_F 8388608.0f
#define HIP_TWO_TO_24_F 16777216.0f
#define HIP_TWO_TO_31_F 2147483648.0f
#define HIP_TWO_TO_32_F 4294967296.0f
#define HIP_TWO_TO_126_F 0x1p126f
#define HIP_TWO_TO_M126_F 0x1p-126f

#define HIP_INF __builtin_huge_val()
#define HIP_NAN __builtin_nan("")
#define HIP_MIN_DENORM 0x1p-1074
#define HIP_NEG_ZERO -0.0
#define HIP_ZERO 0.0
#define HIP_ONE 1.0
#define HIP_THIRD 0.3333333333333333
#define HIP_TWOTHIRD 0.6666666666666666
#define HIP_SQRT_HALF 0.7071067811865476
#define HIP_SQRT_TWO 1.4142135623730951
#define HIP_PI 3.141592653589793
#define HIP_PIO2 1.5707963267948966
#define HIP_PIO4 0.7853981633974483
#define HIP_3PIO4 2.356194490192345
#define HIP_2_OVER_PI 0.6366197723675814
#define HIP_SQRT_2OPI 0.7978845608028654
#define HIP_SQRT_PIO2 1.2533141373155003
#define HIP_SQRT_2PI 2.5066282746310007
#define HIP_L2E 1.4426950408889634
#define HIP_L2T 3.321928094887362
#define HIP_LGE 0.4342944819032518
#define HIP_LG2 0.3010299956639812
#define HIP_LN2 0.6931471805599453
#define HIP_LNT 2.302585092994046
#define HIP_LNPI 1.1447298858494002
#define HIP_TWO_TO_23 8388608.0
#define HIP_TWO_TO_52 4503599627370496.0
#define HIP_TWO_TO_53 9007199254740992.0
#define HIP_TWO_TO_54 18014398509481984.0
#define HIP_TWO_TO_M54 0x1p-54
#define HIP_TWO_TO_M1022 0x1p-1022

#endif
