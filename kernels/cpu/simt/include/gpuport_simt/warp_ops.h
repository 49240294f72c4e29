// Warp operations: shuffles, votes, reductions, matches, __syncwarp, __activemask.
//
// A mask that is the whole warp takes the short way: values meet in the warp's exchange slots, and the last lane to
// arrive goes on without a switch. Any other mask goes through a group, where the last lane works out everybody's
// result.
#pragma once

#include <cstring>
#include <type_traits>

#include "machine.h"

namespace gpuport::simt {

// What a caller gave for a mask. A variable of 32 bits names the first 32 lanes, signed or not: a sign that spreads
// would name lanes that nobody wrote. `-1` and `~0`, written where they are used, are all ones of any width.
struct MaskArgument {
  LaneMask lanes;
  template <typename T, typename Plain = std::remove_cvref_t<T>>
    requires(std::is_integral_v<Plain> || std::is_enum_v<Plain>)
  constexpr MaskArgument(T&& mask)
      : lanes(std::is_lvalue_reference_v<T> && sizeof(Plain) <= 4 ? LaneMask(unsigned(mask)) : LaneMask(mask)) {}
  constexpr operator LaneMask() const { return lanes; }
};

// The lanes that a mask names. CUDA's parameter has 32 bits: where a warp has no more lanes, `-1` is all of them.
__forceinline__ LaneMask named_lanes(const Warp* warp, LaneMask mask) {
  if (mask == warp->full) [[likely]]
    return mask;
  return mask & (~LaneMask(0) >> (kMaxLanes - unsigned(warpSize)));
}

inline void check_mask(const Warp* warp, unsigned lane, LaneMask mask, const char* operation, Site site) {
  if ((mask & ~warp->full) != 0 || (mask >> lane & 1) == 0) refuse_mask(mask, operation, site);
}

inline void resolve_shuffle(const Slot* values, LaneMask, unsigned, unsigned source, Slot* result) {
  *result = values[source];
}

template <typename T>
__forceinline__ T exchange(LaneMask mask, const T& value, unsigned source, Op intrinsic, const char* operation,
                           Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Slot), "a shuffle moves 1 to 16 plain bytes");
  Warp* const warp = current_warp;
  const unsigned lane = current_lane;
  mask = named_lanes(warp, mask);
  T result;
  if (mask == warp->full) [[likely]] {
    if ((mask >> source & 1) == 0) [[unlikely]]
      refuse_source(source, mask, operation, site);
    Slot* const slots = warp->exchange[warp->phase];
    std::memcpy(slots[lane].bytes, &value, sizeof(T));
    wait_warp(op_on<T>(intrinsic), site);
    std::memcpy(static_cast<void*>(&result), slots[source].bytes, sizeof(T));
  } else {
    check_mask(warp, lane, mask, operation, site);
    if ((mask >> source & 1) == 0) refuse_source(source, mask, operation, site);
    std::memcpy(warp->given[lane].bytes, &value, sizeof(T));
    wait_group(mask, op_on<T>(intrinsic), source, resolve_shuffle, site);
    std::memcpy(static_cast<void*>(&result), warp->taken[lane].bytes, sizeof(T));
  }
  return result;
}

__forceinline__ void check_width(int width, const char* operation, Site site) {
  if (width < 1 || width > warpSize || (width & (width - 1)) != 0) [[unlikely]]
    refuse_width(width, operation, site);
}

template <typename Fold, typename T>
auto fold_slots(const Slot* values, LaneMask lanes, unsigned self) {
  const auto get = [values](unsigned lane) {
    T value;
    std::memcpy(&value, values[lane].bytes, sizeof value);
    return value;
  };
  return Fold::over(get, lanes, get(self));
}

// Every lane gets Fold over what the lanes of the mask gave.
template <typename Fold, typename T>
auto fold_lanes(LaneMask mask, T value, Op intrinsic, const char* operation, Site site) {
  using Result = decltype(fold_slots<Fold, T>(nullptr, 0, 0));
  Warp* const warp = current_warp;
  const unsigned lane = current_lane;
  mask = named_lanes(warp, mask);
  if (mask == warp->full) {
    Slot* const slots = warp->exchange[warp->phase];
    std::memcpy(slots[lane].bytes, &value, sizeof(T));
    wait_warp(op_on<T>(intrinsic), site);
    return fold_slots<Fold, T>(slots, mask, lane);
  }
  check_mask(warp, lane, mask, operation, site);
  std::memcpy(warp->given[lane].bytes, &value, sizeof(T));
  wait_group(
      mask, op_on<T>(intrinsic), lane,
      [](const Slot* values, LaneMask lanes, unsigned self, unsigned, Slot* result) {
        const Result folded = fold_slots<Fold, T>(values, lanes, self);
        std::memcpy(result->bytes, &folded, sizeof folded);
      },
      site);
  Result result;
  std::memcpy(&result, warp->taken[lane].bytes, sizeof result);
  return result;
}

template <typename Combine>
struct FoldAll {
  template <typename Get, typename T>
  static T over(Get get, LaneMask lanes, T) {
    T total = get(unsigned(__builtin_ctzll(lanes)));
    for (lanes &= lanes - 1; lanes != 0; lanes &= lanes - 1)
      total = Combine{}(total, get(unsigned(__builtin_ctzll(lanes))));
    return total;
  }
};

struct FoldEqual {  // the lanes whose value is mine
  template <typename Get, typename T>
  static LaneMask over(Get get, LaneMask lanes, T mine) {
    LaneMask same = 0;
    for (; lanes != 0; lanes &= lanes - 1) {
      const unsigned i = unsigned(__builtin_ctzll(lanes));
      if (get(i) == mine) same |= LaneMask(1) << i;
    }
    return same;
  }
};

struct Plus {
  template <typename T>
  T operator()(T a, T b) const {
    return T(a + b);
  }
};
struct Least {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct BitAnd {
  template <typename T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct BitOr {
  template <typename T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct BitXor {
  template <typename T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

__forceinline__ LaneMask ballot(LaneMask mask, bool predicate, Op intrinsic, const char* operation, Site site) {
  Warp* const warp = current_warp;
  const unsigned lane = current_lane;
  mask = named_lanes(warp, mask);
  if (mask == warp->full) [[likely]] {
    LaneMask* const vote = &warp->vote[warp->phase];
    *vote |= LaneMask(predicate) << lane;
    wait_warp(intrinsic, site);
    return *vote;
  }
  check_mask(warp, lane, mask, operation, site);
  warp->given[lane].bytes[0] = predicate;
  wait_group(
      mask, intrinsic, lane,
      [](const Slot* values, LaneMask lanes, unsigned, unsigned, Slot* result) {
        LaneMask votes = 0;
        for (; lanes != 0; lanes &= lanes - 1)
          votes |= LaneMask(values[__builtin_ctzll(lanes)].bytes[0]) << __builtin_ctzll(lanes);
        std::memcpy(result->bytes, &votes, sizeof votes);
      },
      site);
  LaneMask votes;
  std::memcpy(&votes, warp->taken[lane].bytes, sizeof votes);
  return votes;
}

}  // namespace gpuport::simt

template <typename T>
__forceinline__ T __shfl_sync(gpuport::simt::MaskArgument mask, T value, int source, int width = warpSize,
                              gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::check_width(width, "__shfl_sync", site);
  const unsigned lane = gpuport::simt::current_lane, segment = unsigned(width) - 1;
  return gpuport::simt::exchange(mask, value, (lane & ~segment) | (unsigned(source) & segment),
                                 gpuport::simt::Op::kShfl, "__shfl_sync", site);
}

template <typename T>
__forceinline__ T __shfl_up_sync(gpuport::simt::MaskArgument mask, T value, unsigned delta, int width = warpSize,
                                 gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::check_width(width, "__shfl_up_sync", site);
  const unsigned lane = gpuport::simt::current_lane, segment = unsigned(width) - 1;
  return gpuport::simt::exchange(mask, value, (lane & segment) < delta ? lane : lane - delta,
                                 gpuport::simt::Op::kShflUp, "__shfl_up_sync", site);
}

template <typename T>
__forceinline__ T __shfl_down_sync(gpuport::simt::MaskArgument mask, T value, unsigned delta, int width = warpSize,
                                   gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::check_width(width, "__shfl_down_sync", site);
  const unsigned lane = gpuport::simt::current_lane, segment = unsigned(width) - 1;
  return gpuport::simt::exchange(mask, value, segment - (lane & segment) < delta ? lane : lane + delta,
                                 gpuport::simt::Op::kShflDown, "__shfl_down_sync", site);
}

template <typename T>
__forceinline__ T __shfl_xor_sync(gpuport::simt::MaskArgument mask, T value, int lane_mask, int width = warpSize,
                                  gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::check_width(width, "__shfl_xor_sync", site);
  // As on the GPU: an earlier segment may be read, a later one gives the lane's own value.
  const unsigned lane = gpuport::simt::current_lane, source = lane ^ unsigned(lane_mask);
  const unsigned past = (lane | (unsigned(width) - 1)) + 1;
  return gpuport::simt::exchange(mask, value, source >= past ? lane : source, gpuport::simt::Op::kShflXor,
                                 "__shfl_xor_sync", site);
}

__forceinline__ unsigned long long __ballot_sync(gpuport::simt::MaskArgument mask, int predicate,
                                                 gpuport::simt::Site site = gpuport::simt::Site::here()) {
  return gpuport::simt::ballot(mask, predicate != 0, gpuport::simt::Op::kBallot, "__ballot_sync", site);
}
__forceinline__ int __any_sync(gpuport::simt::MaskArgument mask, int predicate,
                               gpuport::simt::Site site = gpuport::simt::Site::here()) {
  return gpuport::simt::ballot(mask, predicate != 0, gpuport::simt::Op::kAny, "__any_sync", site) != 0;
}
__forceinline__ int __all_sync(gpuport::simt::MaskArgument mask, int predicate,
                               gpuport::simt::Site site = gpuport::simt::Site::here()) {
  const gpuport::simt::LaneMask lanes = gpuport::simt::named_lanes(gpuport::simt::current_warp, mask);
  return gpuport::simt::ballot(lanes, predicate != 0, gpuport::simt::Op::kAll, "__all_sync", site) == lanes;
}

inline unsigned long long __activemask(gpuport::simt::Site site = gpuport::simt::Site::here()) {
  return gpuport::simt::wait_converged(site);
}

inline void __syncwarp(gpuport::simt::MaskArgument named, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::Warp* const warp = gpuport::simt::current_warp;
  const unsigned lane = gpuport::simt::current_lane;
  const gpuport::simt::LaneMask mask = gpuport::simt::named_lanes(warp, named);
  if (mask == warp->full) return gpuport::simt::wait_warp(gpuport::simt::Op::kSync, site);
  gpuport::simt::check_mask(warp, lane, mask, "__syncwarp", site);
  gpuport::simt::wait_group(mask, gpuport::simt::Op::kSync, lane, gpuport::simt::resolve_shuffle, site);
}
// Without a mask: the lanes that the block has.
inline void __syncwarp(gpuport::simt::Site site = gpuport::simt::Site::here()) {
  __syncwarp(gpuport::simt::current_warp->full, site);
}

#define GPUPORT_SIMT_REDUCE(name, op, combine)                                                                       \
  template <typename T>                                                                                              \
  inline T name(gpuport::simt::MaskArgument mask, T value, gpuport::simt::Site site = gpuport::simt::Site::here()) { \
    static_assert(std::is_integral_v<T>);                                                                            \
    return gpuport::simt::fold_lanes<gpuport::simt::FoldAll<gpuport::simt::combine>>(                                \
        mask, value, gpuport::simt::Op::op, #name, site);                                                            \
  }
GPUPORT_SIMT_REDUCE(__reduce_add_sync, kReduceAdd, Plus)
GPUPORT_SIMT_REDUCE(__reduce_min_sync, kReduceMin, Least)
GPUPORT_SIMT_REDUCE(__reduce_max_sync, kReduceMax, Greatest)
GPUPORT_SIMT_REDUCE(__reduce_and_sync, kReduceAnd, BitAnd)
GPUPORT_SIMT_REDUCE(__reduce_or_sync, kReduceOr, BitOr)
GPUPORT_SIMT_REDUCE(__reduce_xor_sync, kReduceXor, BitXor)
#undef GPUPORT_SIMT_REDUCE

template <typename T>
inline unsigned long long __match_any_sync(gpuport::simt::MaskArgument mask, T value,
                                           gpuport::simt::Site site = gpuport::simt::Site::here()) {
  return gpuport::simt::fold_lanes<gpuport::simt::FoldEqual>(mask, value, gpuport::simt::Op::kMatchAny,
                                                             "__match_any_sync", site);
}
template <typename T>
inline unsigned long long __match_all_sync(gpuport::simt::MaskArgument mask, T value, int* all_equal,
                                           gpuport::simt::Site site = gpuport::simt::Site::here()) {
  const gpuport::simt::LaneMask lanes = gpuport::simt::named_lanes(gpuport::simt::current_warp, mask);
  const gpuport::simt::LaneMask same = gpuport::simt::fold_lanes<gpuport::simt::FoldEqual>(
      lanes, value, gpuport::simt::Op::kMatchAll, "__match_all_sync", site);
  *all_equal = same == lanes;
  return same == lanes ? lanes : 0;
}
