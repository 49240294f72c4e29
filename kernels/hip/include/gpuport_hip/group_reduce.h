// What cooperative_groups/reduce.h and scan.h of CUDA have, for tiles and for the lanes that are here together.
#pragma once

#include "groups.h"

namespace cooperative_groups {

template <typename T>
struct plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct less {
  __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <typename T>
struct greater {
  __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T>
struct bit_and {
  __device__ T operator()(T a, T b) const { return a & b; }
};
template <typename T>
struct bit_or {
  __device__ T operator()(T a, T b) const { return a | b; }
};
template <typename T>
struct bit_xor {
  __device__ T operator()(T a, T b) const { return a ^ b; }
};

// Every thread of the group gets the result, the same in each: a butterfly combines the same pairs on both sides.
template <unsigned kSize, typename Parent, typename T, typename Combine>
__device__ inline T reduce(const thread_block_tile<kSize, Parent>& tile, T value, Combine combine) {
  for (unsigned step = 1; step < kSize; step *= 2) value = combine(value, tile.shfl_xor(value, step));
  return value;
}
template <typename T, typename Combine>
__device__ inline T reduce(const coalesced_group& group, T value, Combine combine) {
  return gpuport_hip::reduce(group.lanes(), value, combine);
}

template <typename Group, typename T, typename Combine>
__device__ inline T inclusive_scan(const Group& group, T value, Combine combine) {
  const unsigned rank = group.thread_rank();
  for (unsigned step = 1; step < group.size(); step *= 2) {
    const T before = group.shfl_up(value, step);
    if (rank >= step) value = combine(before, value);
  }
  return value;
}
template <typename Group, typename T>
__device__ inline T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
// The first thread gets T(): the sum of nothing.
template <typename Group, typename T, typename Combine>
__device__ inline T exclusive_scan(const Group& group, T value, Combine combine) {
  const T before = group.shfl_up(inclusive_scan(group, value, combine), 1);
  return group.thread_rank() == 0 ? T() : before;
}
template <typename Group, typename T>
__device__ inline T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
