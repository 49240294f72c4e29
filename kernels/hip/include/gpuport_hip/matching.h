// CUDA's __match_*_sync and __reduce_*_sync for a mask of 32 or of 64 bits; the mask means what warp.h says.
#pragma once

#include "warp.h"

namespace gpuport_hip {

// As CUDA compares: 0.0 is not -0.0.
template <typename T>
__device__ inline bool same_bits(T a, T b) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a match takes values of 32 or 64 bits");
  unsigned x[sizeof(T) / 4], y[sizeof(T) / 4];
  __builtin_memcpy(x, &a, sizeof(T));
  __builtin_memcpy(y, &b, sizeof(T));
  return x[0] == y[0] && x[sizeof(T) / 4 - 1] == y[sizeof(T) / 4 - 1];
}

template <typename T>
__device__ inline Lanes match_any(Lanes mask, T value) {
  Lanes equal = 0;
  for (int lane = 0; lane < warpSize; ++lane) {
    equal |= Lanes(same_bits(from_lane(value, lane, warpSize), value)) << lane;
  }
  return equal & __ballot(1) & mask;
}

template <typename T>
__device__ inline Lanes match_all(Lanes mask, T value, int* is_same) {
  T first = from_lane(value, __ffsll(mask) - 1, warpSize);
  *is_same = (__ballot(!same_bits(first, value)) & mask) == 0;
  return *is_same ? mask & __ballot(1) : 0;
}

// Lane by lane: lanes with the same mask take the same number of steps, so that those that are read from are active.
template <typename T, typename Combine>
__device__ inline T reduce(Lanes mask, T value, Combine combine) {
  mask &= __ballot(1);
  T result = from_lane(value, __ffsll(mask) - 1, warpSize);
  for (mask &= mask - 1; mask != 0; mask &= mask - 1) {
    result = combine(result, from_lane(value, __ffsll(mask) - 1, warpSize));
  }
  return result;
}

}  // namespace gpuport_hip

#define GPUPORT_HIP_MATCH(Mask)                                                           \
  template <typename T>                                                                   \
  __device__ inline unsigned long long __match_any_sync(Mask mask, T value) {             \
    return gpuport_hip::match_any(gpuport_hip::lanes(mask), value);                       \
  }                                                                                       \
  template <typename T>                                                                   \
  __device__ inline unsigned long long __match_all_sync(Mask mask, T value, int* equal) { \
    return gpuport_hip::match_all(gpuport_hip::lanes(mask), value, equal);                \
  }

#define GPUPORT_HIP_REDUCE_OF(name, Mask, T, expression)                                                 \
  __device__ inline T name(Mask mask, T value) {                                                         \
    return gpuport_hip::reduce(gpuport_hip::lanes(mask), value, [](T a, T b) { return T(expression); }); \
  }
#define GPUPORT_HIP_REDUCE(Mask)                                                 \
  GPUPORT_HIP_REDUCE_OF(__reduce_add_sync, Mask, int, unsigned(a) + unsigned(b)) \
  GPUPORT_HIP_REDUCE_OF(__reduce_add_sync, Mask, unsigned, a + b)                \
  GPUPORT_HIP_REDUCE_OF(__reduce_min_sync, Mask, int, a < b ? a : b)             \
  GPUPORT_HIP_REDUCE_OF(__reduce_min_sync, Mask, unsigned, a < b ? a : b)        \
  GPUPORT_HIP_REDUCE_OF(__reduce_max_sync, Mask, int, a < b ? b : a)             \
  GPUPORT_HIP_REDUCE_OF(__reduce_max_sync, Mask, unsigned, a < b ? b : a)        \
  GPUPORT_HIP_REDUCE_OF(__reduce_and_sync, Mask, unsigned, a& b)                 \
  GPUPORT_HIP_REDUCE_OF(__reduce_or_sync, Mask, unsigned, a | b)                 \
  GPUPORT_HIP_REDUCE_OF(__reduce_xor_sync, Mask, unsigned, a ^ b)

GPUPORT_HIP_MATCH(int)
GPUPORT_HIP_MATCH(unsigned)
GPUPORT_HIP_REDUCE(int)
GPUPORT_HIP_REDUCE(unsigned)
#if !GPUPORT_HIP_HAS_SYNC
GPUPORT_HIP_MATCH(long)
GPUPORT_HIP_MATCH(unsigned long)
GPUPORT_HIP_MATCH(long long)
GPUPORT_HIP_MATCH(unsigned long long)
GPUPORT_HIP_REDUCE(long)
GPUPORT_HIP_REDUCE(unsigned long)
GPUPORT_HIP_REDUCE(long long)
GPUPORT_HIP_REDUCE(unsigned long long)
#endif
#undef GPUPORT_HIP_MATCH
#undef GPUPORT_HIP_REDUCE_OF
#undef GPUPORT_HIP_REDUCE
