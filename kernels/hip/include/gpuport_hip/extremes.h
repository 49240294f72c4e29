// The smaller and the greater of two integers, under CUDA's names by type.
#pragma once

// Templates, so that a program's own function of the name goes first.
#define GPUPORT_HIP_EXTREME(name, type, better)                 \
  template <int = 0>                                            \
  __host__ __device__ constexpr type name(type one, type two) { \
    return two better one ? two : one;                          \
  }
GPUPORT_HIP_EXTREME(umin, unsigned, <)
GPUPORT_HIP_EXTREME(umax, unsigned, >)
GPUPORT_HIP_EXTREME(llmin, long long, <)
GPUPORT_HIP_EXTREME(llmax, long long, >)
GPUPORT_HIP_EXTREME(ullmin, unsigned long long, <)
GPUPORT_HIP_EXTREME(ullmax, unsigned long long, >)
#undef GPUPORT_HIP_EXTREME
