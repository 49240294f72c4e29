// Some lanes of a warp, by their mask. Ranks count them from the lowest.
#pragma once

namespace cooperative_groups {

class coalesced_group {
  using Site = gpuport::simt::Site;

 public:
  explicit coalesced_group(unsigned long long mask, unsigned meta_rank = 0, unsigned meta_size = 1)
      : mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
  unsigned size() const { return unsigned(__popcll(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return unsigned(__popcll(mask_ & ((1ull << gpuport::simt::current_lane) - 1))); }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }
  unsigned long long lanes() const { return mask_; }

  void sync(Site site = Site::here()) const { __syncwarp(mask_, site); }
  template <typename T>
  T shfl(T value, unsigned rank, Site site = Site::here()) const {
    return __shfl_sync(mask_, value, lane_of(rank % size()), warpSize, site);
  }
  template <typename T>
  T shfl_down(T value, unsigned delta, Site site = Site::here()) const {
    const unsigned rank = thread_rank() + delta;
    return __shfl_sync(mask_, value, lane_of(rank < size() ? rank : thread_rank()), warpSize, site);
  }
  template <typename T>
  T shfl_up(T value, unsigned delta, Site site = Site::here()) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(mask_, value, lane_of(rank < delta ? rank : rank - delta), warpSize, site);
  }
  int any(int predicate, Site site = Site::here()) const { return __any_sync(mask_, predicate, site); }
  int all(int predicate, Site site = Site::here()) const { return __all_sync(mask_, predicate, site); }
  // Bit i is rank i.
  unsigned long long ballot(int predicate, Site site = Site::here()) const {
    return ranks_of(__ballot_sync(mask_, predicate, site));
  }
  template <typename T>
  unsigned long long match_any(T value, Site site = Site::here()) const {
    return ranks_of(__match_any_sync(mask_, value, site));
  }
  template <typename T>
  unsigned long long match_all(T value, int& equal, Site site = Site::here()) const {
    return ranks_of(__match_all_sync(mask_, value, &equal, site));
  }

 private:
  int lane_of(unsigned rank) const {
    unsigned long long rest = mask_;
    for (; rank > 0; --rank) rest &= rest - 1;
    return __ffsll(static_cast<long long>(rest)) - 1;
  }
  unsigned long long ranks_of(unsigned long long lanes) const {
    unsigned long long ranks = 0;
    unsigned rank = 0;
    for (unsigned long long rest = mask_; rest != 0; rest &= rest - 1, ++rank)
      if ((lanes & rest & -rest) != 0) ranks |= 1ull << rank;
    return ranks;
  }
  unsigned long long mask_;
  unsigned meta_rank_, meta_size_;
};
inline coalesced_group coalesced_threads(gpuport::simt::Site site = gpuport::simt::Site::here()) {
  return coalesced_group(__activemask(site));
}

}  // namespace cooperative_groups
