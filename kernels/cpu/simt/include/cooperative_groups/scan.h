// Prefixes over a group, in the order of its ranks.
#pragma once

#include "reduce.h"

namespace cooperative_groups {

template <typename Group, typename T, typename Combine = plus<T>>
T inclusive_scan(const Group& group, T value, Combine combine = {},
                 gpuport::simt::Site site = gpuport::simt::Site::here()) {
  const unsigned rank = unsigned(group.thread_rank());
  for (unsigned step = 1; step < group.size(); step *= 2) {
    const T before = group.shfl_up(value, step, site);
    if (rank >= step) value = combine(before, value);
  }
  return value;
}
// Rank 0 gets a value of T's own, 0 for a number.
template <typename Group, typename T, typename Combine = plus<T>>
T exclusive_scan(const Group& group, T value, Combine combine = {},
                 gpuport::simt::Site site = gpuport::simt::Site::here()) {
  const T before = group.shfl_up(inclusive_scan(group, value, combine, site), 1, site);
  return group.thread_rank() == 0 ? T{} : before;
}

}  // namespace cooperative_groups
