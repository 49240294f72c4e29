// A group whose kind is known when the kernel runs.
#pragma once

namespace cooperative_groups {

class thread_group {
  using Site = gpuport::simt::Site;

 public:
  thread_group(const thread_block&) {}
  thread_group(const coalesced_group& group)
      : lanes_(group.lanes()), meta_rank_(group.meta_group_rank()), meta_size_(group.meta_group_size()) {}
  template <unsigned kSize, typename Parent>
  thread_group(const thread_block_tile<kSize, Parent>& tile, Site site = Site::here())
      : lanes_(tile.lanes(site)), meta_rank_(tile.meta_group_rank()), meta_size_(tile.meta_group_size()) {
    static_assert(kSize <= 32, "a tile of several warps is no thread_group");
  }

  bool is_block() const { return lanes_ == 0; }
  unsigned long long size() const { return is_block() ? thread_block::size() : coalesced().size(); }
  unsigned long long num_threads() const { return size(); }
  unsigned long long thread_rank() const {
    return is_block() ? thread_block::thread_rank() : coalesced().thread_rank();
  }
  void sync(Site site = Site::here()) const {
    if (is_block())
      __syncthreads(site);
    else
      coalesced().sync(site);
  }
  coalesced_group coalesced() const { return coalesced_group(lanes_, meta_rank_, meta_size_); }

 private:
  unsigned long long lanes_ = 0;  // 0: the whole block
  unsigned meta_rank_ = 0, meta_size_ = 1;
};

// Parts of `size` ranks each, a power of two up to 32; the last one may be smaller.
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned part = parent.thread_rank() / size;
  unsigned long long rest = parent.lanes(), lanes = 0;
  for (unsigned rank = 0; rest != 0; rest &= rest - 1, ++rank)
    if (rank / size == part) lanes |= rest & -rest;
  return coalesced_group(lanes, part, (parent.size() + size - 1) / size);
}
template <unsigned kSize>
coalesced_group tiled_partition(const coalesced_group& parent) {
  return tiled_partition(parent, kSize);
}
inline thread_group tiled_partition(const thread_group& parent, unsigned size,
                                    gpuport::simt::Site site = gpuport::simt::Site::here()) {
  if (size == 0 || (size & (size - 1)) != 0 || size > unsigned(warpSize))
    gpuport::simt::refuse_width(int(size), "tiled_partition", site);
  if (!parent.is_block()) return tiled_partition(parent.coalesced(), size);
  const unsigned first = gpuport::simt::current_lane / size * size;
  const unsigned long long lanes = ~0ull >> (64 - size) << first;
  if ((lanes & ~gpuport::simt::current_warp->full) != 0) gpuport::simt::refuse_tile(size, site);
  return coalesced_group(lanes, thread_block::thread_rank() / size, (thread_block::size() + size - 1) / size);
}

template <typename Group>
void sync(const Group& group, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  group.sync(site);
}
template <typename Group>
auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <typename Group>
auto group_size(const Group& group) {
  return group.size();
}

}  // namespace cooperative_groups
