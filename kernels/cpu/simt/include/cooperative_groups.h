// The part of cooperative groups that says something on this machine: block, tile and grid groups, their ranks,
// barriers, shuffles and votes.
#pragma once

#include "cuda_runtime.h"

namespace cooperative_groups {

class thread_block {
 public:
  static void sync(gpuport::simt::Site site = gpuport::simt::Site::here()) { __syncthreads(site); }
  static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  static unsigned long long block_rank() {
    return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)(gridDim.y) * blockIdx.z);
  }
  static unsigned long long num_blocks() { return (unsigned long long)(gridDim.x) * gridDim.y * gridDim.z; }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static bool is_valid() { return gpuport::simt::is_resident(); }
  static void sync(gpuport::simt::Site site = gpuport::simt::Site::here()) { gpuport::simt::wait_grid(site); }
};
inline grid_group this_grid() { return {}; }

// kSize lanes of a warp, a power of two; wider tiles than the warp are refused where they meet.
template <unsigned kSize>
class thread_block_tile {
  static_assert(kSize >= 1 && kSize <= gpuport::simt::kMaxLanes && (kSize & (kSize - 1)) == 0);
  using Site = gpuport::simt::Site;

 public:
  static unsigned thread_rank() { return thread_block::thread_rank() % kSize; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / kSize; }
  static unsigned meta_group_size() { return (thread_block::size() + kSize - 1) / kSize; }
  static constexpr unsigned size() { return kSize; }
  static constexpr unsigned num_threads() { return kSize; }

  static void sync(Site site = Site::here()) { __syncwarp(mask(), site); }
  template <typename T>
  static T shfl(T value, int source, Site site = Site::here()) {
    return __shfl_sync(mask(), value, source, int(kSize), site);
  }
  template <typename T>
  static T shfl_up(T value, unsigned delta, Site site = Site::here()) {
    return __shfl_up_sync(mask(), value, delta, int(kSize), site);
  }
  template <typename T>
  static T shfl_down(T value, unsigned delta, Site site = Site::here()) {
    return __shfl_down_sync(mask(), value, delta, int(kSize), site);
  }
  template <typename T>
  static T shfl_xor(T value, unsigned lanes, Site site = Site::here()) {
    return __shfl_xor_sync(mask(), value, int(lanes), int(kSize), site);
  }
  static unsigned long long ballot(int predicate, Site site = Site::here()) {
    return __ballot_sync(mask(), predicate, site) >> first();
  }
  static int any(int predicate, Site site = Site::here()) { return __any_sync(mask(), predicate, site); }
  static int all(int predicate, Site site = Site::here()) { return __all_sync(mask(), predicate, site); }

 private:
  static unsigned first() { return gpuport::simt::current_lane / kSize * kSize; }
  static unsigned long long mask() { return ~0ull >> (64 - kSize) << first(); }
};
template <unsigned kSize>
thread_block_tile<kSize> tiled_partition(const thread_block&) {
  return {};
}

// The lanes of a warp that are here together, however the others went.
class coalesced_group {
  using Site = gpuport::simt::Site;

 public:
  explicit coalesced_group(unsigned long long mask) : mask_(mask) {}
  unsigned size() const { return unsigned(__popcll(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return unsigned(__popcll(mask_ & ((1ull << gpuport::simt::current_lane) - 1))); }
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

 private:
  int lane_of(unsigned rank) const {
    unsigned long long rest = mask_;
    for (; rank > 0; --rank) rest &= rest - 1;
    return __ffsll(static_cast<long long>(rest)) - 1;
  }
  unsigned long long mask_;
};
inline coalesced_group coalesced_threads(gpuport::simt::Site site = gpuport::simt::Site::here()) {
  return coalesced_group(__activemask(site));
}

template <typename Group>
void sync(const Group& group, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  group.sync(site);
}

}  // namespace cooperative_groups
