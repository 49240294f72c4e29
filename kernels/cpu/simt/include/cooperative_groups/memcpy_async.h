// Copies that the threads of a group make together; they are done when all have come to the wait.
#pragma once

#include "../cooperative_groups.h"
#include "../gpuport_simt/copies.h"

namespace cuda {
template <std::size_t kAlignment>
struct aligned_size_t {
  std::size_t value;
  explicit constexpr aligned_size_t(std::size_t size) : value(size) {}
  constexpr operator std::size_t() const { return value; }
};
}  // namespace cuda

namespace cooperative_groups {

template <typename Group, typename To, typename From>
void memcpy_async(const Group& group, To* to, const From* from, std::size_t bytes) {
  gpuport::simt::copy_share(to, from, bytes, group.thread_rank(), group.size());
}
// By numbers of elements: the smaller one counts.
template <typename Group, typename T>
void memcpy_async(const Group& group, T* to, std::size_t to_count, const T* from, std::size_t from_count) {
  memcpy_async(group, to, from, sizeof(T) * (to_count < from_count ? to_count : from_count));
}
template <typename Group>
void wait(const Group& group, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  group.sync(site);
}
template <unsigned kStages, typename Group>
void wait_prior(const Group& group, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  group.sync(site);
}

}  // namespace cooperative_groups
