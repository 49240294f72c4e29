// CUDA's shuffles and votes with a mask, for a mask of 32 or of 64 bits.
//
// HIP has these names from 7.0 on, for masks of 64 bits only, and before that not at all. The lanes of a wave run in
// step, so a mask is nothing to wait for: it says whose votes count.
//   - A mask of 32 bits, such as 0xffffffff, names the first 32 lanes, also of a wave of 64. `gpuport lint` finds code
//     that takes 32 lanes for granted.
//   - __ballot_sync and __activemask return 64 bits; on a wave of 64 all may be set.
//   - The width of a shuffle is warpSize if none is given.
#pragma once

// Whether HIP itself has them for masks of 64 bits; what stands here takes the narrower ones.
#if defined(HIP_DISABLE_WARP_SYNC_BUILTINS)
#define GPUPORT_HIP_HAS_SYNC 0
#elif HIP_VERSION_MAJOR >= 7 || (HIP_VERSION_MAJOR == 6 && defined(HIP_ENABLE_WARP_SYNC_BUILTINS))
#define GPUPORT_HIP_HAS_SYNC 1
#else
#define GPUPORT_HIP_HAS_SYNC 0
#endif

namespace gpuport_hip {

using Lanes = unsigned long long;

// Never the sign: a full mask may be written -1.
__device__ inline Lanes lanes(int mask) { return unsigned(mask); }
__device__ inline Lanes lanes(unsigned mask) { return mask; }
__device__ inline Lanes lanes(long mask) { return Lanes(mask); }
__device__ inline Lanes lanes(unsigned long mask) { return mask; }
__device__ inline Lanes lanes(long long mask) { return Lanes(mask); }
__device__ inline Lanes lanes(unsigned long long mask) { return mask; }

// Word by word, so that what HIP's shuffles do not know (bool, short, half, small structures) goes too.
template <typename T, typename Move>
__device__ inline T move_words(T value, Move move) {
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = move(word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

// The lane counts modulo the width, as CUDA has it.
template <typename T>
__device__ inline T from_lane(T value, int lane, int width) {
  return move_words(value, [=](int word) { return __shfl(word, lane & (width - 1), width); });
}

template <typename A, typename B>
struct Only {};
template <typename A>
struct Only<A, A> {
  using Int = int;
};

}  // namespace gpuport_hip

#define GPUPORT_HIP_VOTES(Mask)                                                                      \
  template <typename T>                                                                              \
  __device__ inline T __shfl_sync(Mask, T value, int lane, int width = warpSize) {                   \
    return gpuport_hip::from_lane(value, lane, width);                                               \
  }                                                                                                  \
  template <typename T>                                                                              \
  __device__ inline T __shfl_up_sync(Mask, T value, unsigned delta, int width = warpSize) {          \
    return gpuport_hip::move_words(value, [=](int word) { return __shfl_up(word, delta, width); });  \
  }                                                                                                  \
  template <typename T>                                                                              \
  __device__ inline T __shfl_down_sync(Mask, T value, unsigned delta, int width = warpSize) {        \
    return gpuport_hip::move_words(value, [=](int w) { return __shfl_down(w, delta, width); });      \
  }                                                                                                  \
  template <typename T>                                                                              \
  __device__ inline T __shfl_xor_sync(Mask, T value, int lanes, int width = warpSize) {              \
    return gpuport_hip::move_words(value, [=](int word) { return __shfl_xor(word, lanes, width); }); \
  }                                                                                                  \
  __device__ inline unsigned long long __ballot_sync(Mask mask, int predicate) {                     \
    return __ballot(predicate) & gpuport_hip::lanes(mask);                                           \
  }                                                                                                  \
  __device__ inline int __any_sync(Mask mask, int predicate) {                                       \
    return (__ballot(predicate) & gpuport_hip::lanes(mask)) != 0;                                    \
  }                                                                                                  \
  __device__ inline int __all_sync(Mask mask, int predicate) {                                       \
    return (__ballot(!predicate) & gpuport_hip::lanes(mask)) == 0;                                   \
  }                                                                                                  \
  __device__ inline int __uni_sync(Mask mask, int predicate) {                                       \
    return __all_sync(mask, predicate) || !__any_sync(mask, predicate);                              \
  }                                                                                                  \
  __device__ inline void __syncwarp(Mask) { gpuport_hip::meet(); }

namespace gpuport_hip {

// Nothing to wait for, but what was written to memory before must not be moved behind it.
__device__ inline void meet() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

}  // namespace gpuport_hip

GPUPORT_HIP_VOTES(int)
GPUPORT_HIP_VOTES(unsigned)
#if !GPUPORT_HIP_HAS_SYNC
GPUPORT_HIP_VOTES(long)
GPUPORT_HIP_VOTES(unsigned long)
GPUPORT_HIP_VOTES(long long)
GPUPORT_HIP_VOTES(unsigned long long)

__device__ inline void __syncwarp() { gpuport_hip::meet(); }
__device__ inline unsigned long long __activemask() { return __ballot(1); }
#endif
#undef GPUPORT_HIP_VOTES

// CUDA code counts and searches a ballot with the functions for 32 bits. Only for the type of a ballot; any other
// 64-bit integer is cut off, as in CUDA.
template <typename T>
__device__ inline typename gpuport_hip::Only<T, unsigned long long>::Int __popc(T ballot) {
  return __popcll(ballot);
}
template <typename T>
__device__ inline typename gpuport_hip::Only<T, unsigned long long>::Int __ffs(T ballot) {
  return __ffsll(ballot);
}
