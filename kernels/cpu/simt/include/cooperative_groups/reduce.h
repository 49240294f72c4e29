// Reductions over a group: each lane gets the result.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <typename T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <typename T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <typename T>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <typename T>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};

template <unsigned kSize, typename Parent, typename T, typename Combine>
T reduce(const thread_block_tile<kSize, Parent>& tile, T value, Combine combine,
         gpuport::simt::Site site = gpuport::simt::Site::here()) {
  for (unsigned step = 1; step < kSize; step *= 2) value = combine(value, tile.shfl_xor(value, step, site));
  return value;
}
template <typename T, typename Combine>
T reduce(const coalesced_group& group, T value, Combine combine,
         gpuport::simt::Site site = gpuport::simt::Site::here()) {
  T total = group.shfl(value, 0, site);
  for (unsigned rank = 1; rank < group.size(); ++rank) total = combine(total, group.shfl(value, rank, site));
  return total;
}

}  // namespace cooperative_groups
