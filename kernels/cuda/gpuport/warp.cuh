// One warp, or a power-of-two part of it: lanes, shuffles, votes, reductions and scans.
//
// Warp<kWidth> is the hardware's warp; Warp<kWidth, kGroup> cuts it into groups of kGroup lanes that work apart from
// each other. Masks have 64 bits everywhere. Every lane of the group must call each operation together. Blocks are
// one-dimensional and a whole number of warps: lanes past the end of the data stay and carry an identity.
#pragma once

#include "types.cuh"

namespace gp {

using lane_mask_t = std::uint64_t;

namespace detail {

// The width of the device being compiled for; 0 where it is only known at run time.
#if defined(GP_TARGET_CUDA)
inline constexpr int kCompiledWidth = 32;
#elif defined(GP_TARGET_AMD) && defined(__HIP_DEVICE_COMPILE__)
#if defined(__GFX9__)
inline constexpr int kCompiledWidth = 64;
#else
inline constexpr int kCompiledWidth = 32;
#endif
#else
inline constexpr int kCompiledWidth = 0;
#endif

// Whether the hardware combines a word of each lane at once, where shuffles take a step for each doubling.
#if defined(GP_TARGET_CUDA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
inline constexpr bool kReducesWords = true;
#else
inline constexpr bool kReducesWords = false;
#endif

enum class Shuffle { kIndex, kUp, kDown, kXor };

template <Shuffle kKind, typename T>
GP_DEVICE T shuffle_native(lane_mask_t mask, T value, int argument, int group) {
#if defined(GP_TARGET_AMD)
  // HIP 5 has no masked shuffles; the lanes of a group are converged wherever this is called.
  if constexpr (kKind == Shuffle::kIndex) return __shfl(value, argument, group);
  if constexpr (kKind == Shuffle::kUp) return __shfl_up(value, unsigned(argument), group);
  if constexpr (kKind == Shuffle::kDown) return __shfl_down(value, unsigned(argument), group);
  if constexpr (kKind == Shuffle::kXor) return __shfl_xor(value, argument, group);
#else
  if constexpr (kKind == Shuffle::kIndex) return __shfl_sync(mask, value, argument, group);
  if constexpr (kKind == Shuffle::kUp) return __shfl_up_sync(mask, value, unsigned(argument), group);
  if constexpr (kKind == Shuffle::kDown) return __shfl_down_sync(mask, value, unsigned(argument), group);
  if constexpr (kKind == Shuffle::kXor) return __shfl_xor_sync(mask, value, argument, group);
#endif
}

// Any trivially copyable T, word by word on a GPU. The SIMT runtime moves up to 16 bytes at once, one exchange instead
// of four.
template <Shuffle kKind, typename T>
GP_DEVICE T shuffle(lane_mask_t mask, const T& value, int argument, int group) {
  static_assert(std::is_trivially_copyable_v<T>);
#if defined(GP_TARGET_CPU)
  if constexpr (sizeof(T) <= 16) return shuffle_native<kKind>(mask, value, argument, group);
#endif
  constexpr int kWords = (sizeof(T) + 3) / 4;
  std::uint32_t words[kWords] = {};
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = shuffle_native<kKind>(mask, words[i], argument, group);
  T result;
  __builtin_memcpy(&result, words, sizeof(T));
  return result;
}

GP_DEVICE lane_mask_t ballot(lane_mask_t mask, bool predicate) {
#if defined(GP_TARGET_AMD)
  return __ballot(predicate) & mask;
#elif defined(GP_TARGET_CUDA)
  return __ballot_sync(unsigned(mask), predicate);
#else
  return __ballot_sync(mask, predicate);
#endif
}

GP_DEVICE void sync_lanes(lane_mask_t mask) {
#if defined(GP_TARGET_AMD)
  // A wave runs in lockstep; what is left to order is its memory traffic.
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#elif defined(GP_TARGET_CUDA)
  __syncwarp(unsigned(mask));
#else
  __syncwarp(mask);
#endif
}

}  // namespace detail

template <int kWidth, int kGroup = kWidth>
struct Warp {
  static_assert(kWidth == 32 || kWidth == 64, "a warp has 32 or 64 lanes");
  static_assert(kGroup >= 1 && kGroup <= kWidth && (kGroup & (kGroup - 1)) == 0, "a group is a power of two of lanes");
  static constexpr int kLanes = kGroup;

  // Whether the target that is being compiled for has this width. The first statement of every kernel that takes one is
  //   if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  // After a return the compiler makes no code of the rest; after a trap it would, and throw it away later.
  static constexpr bool kIsCompiled = detail::kCompiledWidth == 0 || detail::kCompiledWidth == kWidth;
  static GP_DEVICE void refuse() { __builtin_trap(); }

  static GP_DEVICE int lane() { return int(threadIdx.x % kGroup); }
  static GP_DEVICE int index() { return int(threadIdx.x / kGroup); }  // of the group in the block
  static GP_DEVICE index_t global_index() { return index_t(blockIdx.x) * (blockDim.x / kGroup) + index(); }
  static GP_DEVICE index_t global_count() { return index_t(gridDim.x) * (blockDim.x / kGroup); }

  // The lanes of this group, by their place in the warp. Shifts by the full width are undefined, hence the two steps.
  static GP_DEVICE lane_mask_t group_mask() {
    constexpr lane_mask_t kFull = ~lane_mask_t(0) >> (64 - kGroup);
    return kFull << (threadIdx.x % kWidth / kGroup * kGroup);
  }
  // The lanes of this group before the calling one.
  static GP_DEVICE lane_mask_t lanes_below() { return group_mask() & ((lane_mask_t(1) << (threadIdx.x % kWidth)) - 1); }

  template <typename T>
  static GP_DEVICE T shuffle(const T& value, int source_lane) {
    return detail::shuffle<detail::Shuffle::kIndex>(group_mask(), value, source_lane, kGroup);
  }
  template <typename T>
  static GP_DEVICE T shuffle_up(const T& value, int delta) {
    return detail::shuffle<detail::Shuffle::kUp>(group_mask(), value, delta, kGroup);
  }
  template <typename T>
  static GP_DEVICE T shuffle_down(const T& value, int delta) {
    return detail::shuffle<detail::Shuffle::kDown>(group_mask(), value, delta, kGroup);
  }
  template <typename T>
  static GP_DEVICE T shuffle_xor(const T& value, int lane_bits) {
    return detail::shuffle<detail::Shuffle::kXor>(group_mask(), value, lane_bits, kGroup);
  }

  static GP_DEVICE lane_mask_t ballot(bool predicate) { return detail::ballot(group_mask(), predicate); }
  static GP_DEVICE bool any(bool predicate) { return ballot(predicate) != 0; }
  static GP_DEVICE bool all(bool predicate) { return ballot(predicate) == group_mask(); }
  static GP_DEVICE int count(bool predicate) { return __popcll(ballot(predicate)); }
  static GP_DEVICE void sync() { detail::sync_lanes(group_mask()); }

  // Lane 0 holds the result, the other lanes a part of it. Operators that commute.
  template <typename Op>
  static GP_DEVICE typename Op::State reduce(typename Op::State state) {
#pragma unroll
    for (int delta = kGroup / 2; delta > 0; delta /= 2) state = Op::combine(state, shuffle_down(state, delta));
    return state;
  }

  // The same, in the order of the lanes, so the operator need not commute. Lane 0 holds the results; several states
  // side by side hide the latency of each other's shuffles.
  template <typename Op, int kStates>
  static GP_DEVICE void reduce_in_order(typename Op::State (&states)[kStates]) {
#pragma unroll
    for (int delta = 1; delta < kGroup; delta *= 2) {
#pragma unroll
      for (int i = 0; i < kStates; ++i) states[i] = Op::combine(states[i], shuffle_down(states[i], delta));
    }
  }

  // Every lane holds the result, the same bits. Keeps the order of the lanes, so the operator need not commute. One
  // that has across() says how to do it by words, and is exact.
  template <typename Op>
  static GP_DEVICE typename Op::State all_reduce(typename Op::State state) {
    if constexpr (kReducesWords && requires { Op::template across<Warp>(state); }) {
      return Op::template across<Warp>(state);
    } else {
#pragma unroll
      for (int bit = 1; bit < kGroup; bit *= 2) {
        const typename Op::State other = shuffle_xor(state, bit);
        state = lane() & bit ? Op::combine(other, state) : Op::combine(state, other);
      }
      return state;
    }
  }

  // The greatest, the least and the sum of the lanes' words. Every lane holds it.
  static constexpr bool kReducesWords = detail::kReducesWords && kGroup == kWidth;
  static GP_DEVICE std::uint32_t greatest_word(std::uint32_t word) {
#if defined(GP_TARGET_CUDA)
    if constexpr (kReducesWords) return __reduce_max_sync(unsigned(group_mask()), word);
#endif
    return fold_words(word, [](std::uint32_t a, std::uint32_t b) { return b > a ? b : a; });
  }
  static GP_DEVICE std::uint32_t least_word(std::uint32_t word) {
#if defined(GP_TARGET_CUDA)
    if constexpr (kReducesWords) return __reduce_min_sync(unsigned(group_mask()), word);
#endif
    return fold_words(word, [](std::uint32_t a, std::uint32_t b) { return b < a ? b : a; });
  }
  static GP_DEVICE std::uint32_t sum_of_words(std::uint32_t word) {
#if defined(GP_TARGET_CUDA)
    if constexpr (kReducesWords) return __reduce_add_sync(unsigned(group_mask()), word);
#endif
    return fold_words(word, [](std::uint32_t a, std::uint32_t b) { return a + b; });
  }

  // Lane i holds the combination of lanes 0 .. i. Keeps the order.
  template <typename Op>
  static GP_DEVICE typename Op::State inclusive_scan(typename Op::State state) {
#pragma unroll
    for (int delta = 1; delta < kGroup; delta *= 2) {
      const typename Op::State before = shuffle_up(state, delta);
      if (lane() >= delta) state = Op::combine(before, state);
    }
    return state;
  }

  // Lane i holds the combination of lanes 0 .. i - 1, lane 0 the identity. Keeps the order.
  template <typename Op>
  static GP_DEVICE typename Op::State exclusive_scan(typename Op::State state) {
    const typename Op::State before = shuffle_up(inclusive_scan<Op>(state), 1);
    return lane() == 0 ? Op::identity() : before;
  }

 private:
  template <typename Combine>
  static GP_DEVICE std::uint32_t fold_words(std::uint32_t word, Combine combine) {
#pragma unroll
    for (int bit = 1; bit < kGroup; bit *= 2) word = combine(word, shuffle_xor(word, bit));
    return word;
  }
};

}  // namespace gp
