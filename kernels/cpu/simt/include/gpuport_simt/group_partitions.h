// Parts of a group by what its threads say, and one thread that acts for a group.
#pragma once

#include <utility>

namespace cooperative_groups {

// One part for each label that occurs, in the order of their lowest lanes.
template <typename Group, typename Label>
coalesced_group labeled_partition(const Group& group, Label label,
                                  gpuport::simt::Site site = gpuport::simt::Site::here()) {
  const unsigned long long lanes = group.lanes(), mine = __match_any_sync(lanes, label, site);
  // A lane stands for its part if no lower one does.
  const bool stands = __builtin_ctzll(mine) == int(gpuport::simt::current_lane);
  const unsigned long long standing = __ballot_sync(lanes, stands, site);
  const unsigned long long before = standing & ((mine & -mine) - 1);
  return coalesced_group(mine, unsigned(__popcll(before)), unsigned(__popcll(standing)));
}
// The part that said no, and the part that said yes.
template <typename Group>
coalesced_group binary_partition(const Group& group, bool predicate,
                                 gpuport::simt::Site site = gpuport::simt::Site::here()) {
  const unsigned long long lanes = group.lanes(), yes = __ballot_sync(lanes, predicate, site);
  return coalesced_group(predicate ? yes : lanes & ~yes, predicate, 2);
}

template <typename Group, typename Function, typename... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
}
template <typename Group, typename Function, typename... Arguments>
auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments) {
  using Result = std::remove_cvref_t<std::invoke_result_t<Function, Arguments...>>;
  Result result{};
  if (group.thread_rank() == 0) result = std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
  return group.shfl(result, 0);
}

}  // namespace cooperative_groups
