// Tiles of a block: kSize threads in the order of their ranks, a power of two, in one warp or over several.
#pragma once

namespace cooperative_groups {

template <unsigned kSize, typename Parent = void>
class thread_block_tile;

template <unsigned kSize>
class thread_block_tile<kSize, void> {
  static_assert(kSize >= 1 && kSize <= gpuport::simt::kMaxThreads && (kSize & (kSize - 1)) == 0);
  using Site = gpuport::simt::Site;

 public:
  static unsigned thread_rank() { return thread_block::thread_rank() % kSize; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / kSize; }
  static unsigned meta_group_size() { return (thread_block::size() + kSize - 1) / kSize; }
  static constexpr unsigned size() { return kSize; }
  static constexpr unsigned num_threads() { return kSize; }
  // Of a tile within a warp.
  static unsigned long long lanes(Site site = Site::here()) {
    const unsigned long long mask = ~0ull >> (64 - (kSize < 64 ? kSize : 64)) << first();
    if ((mask & ~gpuport::simt::current_warp->full) != 0) [[unlikely]]
      gpuport::simt::refuse_tile(kSize, site);
    return mask;
  }

  static void sync(Site site = Site::here()) {
    if (in_one_warp()) return __syncwarp(lanes(site), site);
    check_whole(site);
    gpuport::simt::meet_warps<kSize>(meta_group_rank(), site);
  }
  template <typename T>
  static T shfl(T value, int source, Site site = Site::here()) {
    if (in_one_warp()) return __shfl_sync(lanes(site), value, source, int(kSize), site);
    return shown_by(value, unsigned(source) % kSize, site);
  }
  template <typename T>
  static T shfl_up(T value, unsigned delta, Site site = Site::here()) {
    if (in_one_warp()) return __shfl_up_sync(lanes(site), value, delta, int(kSize), site);
    return shown_by(value, thread_rank() < delta ? thread_rank() : thread_rank() - delta, site);
  }
  template <typename T>
  static T shfl_down(T value, unsigned delta, Site site = Site::here()) {
    if (in_one_warp()) return __shfl_down_sync(lanes(site), value, delta, int(kSize), site);
    return shown_by(value, thread_rank() + delta >= kSize ? thread_rank() : thread_rank() + delta, site);
  }
  template <typename T>
  static T shfl_xor(T value, unsigned mask, Site site = Site::here()) {
    if (in_one_warp()) return __shfl_xor_sync(lanes(site), value, int(mask), int(kSize), site);
    return shown_by(value, (thread_rank() ^ mask) % kSize, site);
  }
  static int any(int predicate, Site site = Site::here()) {
    if (in_one_warp()) return __any_sync(lanes(site), predicate, site);
    return votes(predicate != 0, site) != 0;
  }
  static int all(int predicate, Site site = Site::here()) {
    if (in_one_warp()) return __all_sync(lanes(site), predicate, site);
    return votes(predicate != 0, site) == kSize;
  }
  // Bit i is rank i.
  static unsigned long long ballot(int predicate, Site site = Site::here()) {
    return __ballot_sync(lanes(site), predicate, site) >> first();
  }
  template <typename T>
  static unsigned long long match_any(T value, Site site = Site::here()) {
    return __match_any_sync(lanes(site), value, site) >> first();
  }
  template <typename T>
  static unsigned long long match_all(T value, int& equal, Site site = Site::here()) {
    return __match_all_sync(lanes(site), value, &equal, site) >> first();
  }

 private:
  static bool in_one_warp() { return kSize <= 32 || kSize <= unsigned(warpSize); }
  static unsigned first() { return gpuport::simt::current_lane / kSize * kSize; }
  static void check_whole(Site site) {
    if ((meta_group_rank() + 1) * kSize > thread_block::size()) gpuport::simt::refuse_tile(kSize, site);
  }
  // Between two barriers, of which the second keeps what is shown until all have read it.
  template <typename Read>
  static auto between(const void* shown, Read read, Site site) {
    gpuport::simt::WarpsMeeting& meeting = gpuport::simt::meeting_of_warps<kSize>();
    meeting.shown[thread_block::thread_rank()] = shown;
    sync(site);
    const auto result = read(meeting.shown + meta_group_rank() * kSize);
    sync(site);
    return result;
  }
  template <typename T>
  static T shown_by(const T& value, unsigned rank, Site site) {
    return between(&value, [rank](const void** shown) { return *static_cast<const T*>(shown[rank]); }, site);
  }
  static unsigned votes(bool predicate, Site site) {
    const auto count = [](const void** shown) {
      unsigned sum = 0;
      for (unsigned rank = 0; rank < kSize; ++rank) sum += *static_cast<const bool*>(shown[rank]);
      return sum;
    };
    return between(&predicate, count, site);
  }
};

// A tile of the block's is a tile of no other.
template <unsigned kSize>
class thread_block_tile<kSize, thread_block> : public thread_block_tile<kSize, void> {};
template <unsigned kSize, unsigned kParent, typename Grandparent>
class thread_block_tile<kSize, thread_block_tile<kParent, Grandparent>> : public thread_block_tile<kSize, void> {
 public:
  static unsigned meta_group_rank() { return thread_block::thread_rank() % kParent / kSize; }
  static unsigned meta_group_size() { return kParent / kSize; }
};

template <unsigned kSize>
thread_block_tile<kSize, thread_block> tiled_partition(const thread_block&) {
  return {};
}
template <unsigned kSize, unsigned kParent, typename Grandparent>
thread_block_tile<kSize, thread_block_tile<kParent, Grandparent>> tiled_partition(
    const thread_block_tile<kParent, Grandparent>&) {
  static_assert(kSize <= kParent, "a tile of a tile is no larger");
  return {};
}

}  // namespace cooperative_groups
