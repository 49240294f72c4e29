// CUDA's cooperative groups for waves of both widths, in the place of HIP's own, which differ from version to version:
// HIP 5 has no tiles that vote or know their place, and no version shuffles structures.
//
// The lanes of a wave run in step: a group inside a wave has nothing to wait for, only memory to keep in order.
#pragma once

#include "matching.h"
#include "warp.h"

// What HIP's header asks before it declares the same.
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COOPERATIVE_GROUPS_H

namespace gpuport_hip {

__device__ inline unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ inline unsigned block_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ inline unsigned long long grid_blocks() { return (unsigned long long)(gridDim.x) * gridDim.y * gridDim.z; }
__device__ inline unsigned long long grid_rank() {
  return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)(gridDim.y) * blockIdx.z);
}

__device__ inline Lanes below(unsigned lane) { return (1ull << lane) - 1; }

// The lane of the set bit that has `rank` others below it.
__device__ inline int nth_lane(Lanes lanes, unsigned rank) {
  for (; rank != 0; --rank) lanes &= lanes - 1;
  return __ffsll(lanes) - 1;
}

template <unsigned kSize>
struct Ballot {
  using Type = unsigned;
};
template <>
struct Ballot<64> {
  using Type = Lanes;
};

}  // namespace gpuport_hip

namespace cooperative_groups {

// Any group, as functions take it that do not care which.
class thread_group {
 public:
  __device__ unsigned long long size() const {
    switch (kind_) {
      case kBlock:
        return gpuport_hip::block_threads();
      case kGrid:
        return gpuport_hip::grid_blocks() * gpuport_hip::block_threads();
      case kTile:
        return size_;
      default:
        return __popcll(lanes_);
    }
  }
  __device__ unsigned long long num_threads() const { return size(); }
  __device__ unsigned long long thread_rank() const {
    switch (kind_) {
      case kBlock:
        return gpuport_hip::block_rank();
      case kGrid:
        return gpuport_hip::grid_rank() * gpuport_hip::block_threads() + gpuport_hip::block_rank();
      case kTile:
        return gpuport_hip::block_rank() % size_;
      default:
        return __popcll(lanes_ & gpuport_hip::below(__lane_id()));
    }
  }
  __device__ bool is_valid() const { return kind_ != kGrid || __ockl_grid_is_valid(); }
  __device__ void sync() const {
    switch (kind_) {
      case kBlock:
        return __syncthreads();
      case kGrid:
        return __ockl_grid_sync();
      default:
        return gpuport_hip::meet();
    }
  }

 protected:
  enum Kind : unsigned char { kBlock, kGrid, kTile, kLanes };
  __device__ explicit thread_group(Kind kind, unsigned size = 0, gpuport_hip::Lanes lanes = 0)
      : lanes_(lanes), size_(size), kind_(kind) {}

 private:
  friend __device__ thread_group tiled_partition(const thread_group& parent, unsigned size);
  gpuport_hip::Lanes lanes_;
  unsigned size_;
  Kind kind_;
};

class thread_block : public thread_group {
 public:
  __device__ static unsigned size() { return gpuport_hip::block_threads(); }
  __device__ static unsigned num_threads() { return size(); }
  __device__ static unsigned thread_rank() { return gpuport_hip::block_rank(); }
  __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  __device__ static dim3 dim_threads() { return group_dim(); }
  __device__ static bool is_valid() { return true; }
  __device__ static void sync() { __syncthreads(); }

 private:
  friend __device__ thread_block this_thread_block();
  __device__ thread_block() : thread_group(kBlock) {}
};
__device__ inline thread_block this_thread_block() { return {}; }

// Every block of the grid, in a cooperative launch.
class grid_group : public thread_group {
 public:
  __device__ static unsigned long long num_blocks() { return gpuport_hip::grid_blocks(); }
  __device__ static unsigned long long block_rank() { return gpuport_hip::grid_rank(); }
  __device__ static unsigned long long size() { return num_blocks() * thread_block::size(); }
  __device__ static unsigned long long num_threads() { return size(); }
  __device__ static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  __device__ static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  __device__ static dim3 dim_blocks() { return group_dim(); }
  __device__ static dim3 block_index() { return thread_block::group_index(); }
  __device__ static bool is_valid() { return __ockl_grid_is_valid(); }
  __device__ static void sync() { __ockl_grid_sync(); }

 private:
  friend __device__ grid_group this_grid();
  __device__ grid_group() : thread_group(kGrid) {}
};
__device__ inline grid_group this_grid() { return {}; }

// Every grid of a launch on several devices: gone from CUDA 13, and HIP still has it.
class multi_grid_group {
 public:
  __device__ static unsigned num_grids() { return __ockl_multi_grid_num_grids(); }
  __device__ static unsigned grid_rank() { return __ockl_multi_grid_grid_rank(); }
  __device__ static unsigned long long size() { return __ockl_multi_grid_size(); }
  __device__ static unsigned long long num_threads() { return size(); }
  __device__ static unsigned long long thread_rank() { return __ockl_multi_grid_thread_rank(); }
  __device__ static bool is_valid() { return __ockl_multi_grid_is_valid(); }
  __device__ static void sync() { __ockl_multi_grid_sync(); }
};
__device__ inline multi_grid_group this_multi_grid() { return {}; }

template <unsigned kSize, typename Parent = void>
class thread_block_tile;

// kSize neighbours of a wave, a power of two.
template <unsigned kSize>
class thread_block_tile<kSize, void> : public thread_group {
  static_assert(kSize >= 1 && kSize <= 64 && (kSize & (kSize - 1)) == 0, "a tile has 1, 2, 4 .. 64 threads");
  using Bits = typename gpuport_hip::Ballot<kSize>::Type;

 public:
  __device__ static constexpr unsigned size() { return kSize; }
  __device__ static constexpr unsigned num_threads() { return kSize; }
  __device__ static unsigned thread_rank() { return gpuport_hip::block_rank() % kSize; }
  __device__ unsigned meta_group_rank() const { return meta_rank_; }
  __device__ unsigned meta_group_size() const { return meta_size_; }
  __device__ static void sync() { gpuport_hip::meet(); }

  template <typename T>
  __device__ static T shfl(T value, int rank) {
    return gpuport_hip::from_lane(value, rank, int(kSize));
  }
  template <typename T>
  __device__ static T shfl_up(T value, unsigned delta) {
    return gpuport_hip::move_words(value, [=](int word) { return __shfl_up(word, delta, int(kSize)); });
  }
  template <typename T>
  __device__ static T shfl_down(T value, unsigned delta) {
    return gpuport_hip::move_words(value, [=](int word) { return __shfl_down(word, delta, int(kSize)); });
  }
  template <typename T>
  __device__ static T shfl_xor(T value, unsigned lanes) {
    return gpuport_hip::move_words(value, [=](int word) { return __shfl_xor(word, int(lanes), int(kSize)); });
  }
  __device__ static Bits ballot(int predicate) { return Bits((__ballot(predicate) & lanes()) >> first()); }
  __device__ static int any(int predicate) { return (__ballot(predicate) & lanes()) != 0; }
  __device__ static int all(int predicate) { return (__ballot(!predicate) & lanes()) == 0; }
  template <typename T>
  __device__ static Bits match_any(T value) {
    return Bits(gpuport_hip::match_any(lanes(), value) >> first());
  }
  template <typename T>
  __device__ static Bits match_all(T value, int& is_same) {
    return Bits(gpuport_hip::match_all(lanes(), value, &is_same) >> first());
  }

  // Of the wave, whichever of them are here.
  __device__ static gpuport_hip::Lanes lanes() { return ~0ull >> (64 - kSize) << first(); }

 protected:
  __device__ thread_block_tile(unsigned meta_rank, unsigned meta_size)
      : thread_group(kTile, kSize), meta_rank_(meta_rank), meta_size_(meta_size) {
    if (int(kSize) > warpSize) __builtin_trap();
  }

 private:
  __device__ static unsigned first() { return __lane_id() / kSize * kSize; }
  unsigned meta_rank_, meta_size_;
};

// One that still knows what it is a part of.
template <unsigned kSize, typename Parent>
class thread_block_tile : public thread_block_tile<kSize, void> {
  template <unsigned kTileSize, typename Whole>
  friend __device__ thread_block_tile<kTileSize, Whole> tiled_partition(const Whole& parent);
  __device__ explicit thread_block_tile(const Parent& parent)
      : thread_block_tile<kSize, void>(unsigned(parent.thread_rank()) / kSize,
                                       (unsigned(parent.size()) + kSize - 1) / kSize) {}
};

template <unsigned kSize, typename Parent>
__device__ inline thread_block_tile<kSize, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<kSize, Parent>(parent);
}

// The lanes of a wave that are here together, or some of them.
class coalesced_group : public thread_group {
 public:
  __device__ explicit coalesced_group(gpuport_hip::Lanes lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
      : thread_group(kLanes, 0, lanes), lanes_(lanes), meta_rank_(meta_rank), meta_size_(meta_size) {}
  __device__ unsigned size() const { return __popcll(lanes_); }
  __device__ unsigned num_threads() const { return size(); }
  __device__ unsigned thread_rank() const { return __popcll(lanes_ & gpuport_hip::below(__lane_id())); }
  __device__ unsigned meta_group_rank() const { return meta_rank_; }
  __device__ unsigned meta_group_size() const { return meta_size_; }
  __device__ static void sync() { gpuport_hip::meet(); }

  template <typename T>
  __device__ T shfl(T value, int rank) const {
    return gpuport_hip::from_lane(value, gpuport_hip::nth_lane(lanes_, unsigned(rank) % size()), warpSize);
  }
  template <typename T>
  __device__ T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return shfl(value, int(rank < delta ? rank : rank - delta));
  }
  template <typename T>
  __device__ T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return shfl(value, int(delta < size() - rank ? rank + delta : rank));
  }
  __device__ unsigned long long ballot(int predicate) const { return ranks(__ballot(predicate)); }
  __device__ int any(int predicate) const { return (__ballot(predicate) & lanes_) != 0; }
  __device__ int all(int predicate) const { return (__ballot(!predicate) & lanes_) == 0; }
  template <typename T>
  __device__ unsigned long long match_any(T value) const {
    return ranks(gpuport_hip::match_any(lanes_, value));
  }
  template <typename T>
  __device__ unsigned long long match_all(T value, int& is_same) const {
    return ranks(gpuport_hip::match_all(lanes_, value, &is_same));
  }

  __device__ gpuport_hip::Lanes lanes() const { return lanes_; }

 private:
  // A bit a rank, of a bit a lane.
  __device__ unsigned long long ranks(gpuport_hip::Lanes chosen) const {
    unsigned long long bits = 0;
    unsigned rank = 0;
    for (gpuport_hip::Lanes rest = lanes_; rest != 0; rest &= rest - 1, ++rank) {
      bits |= (chosen >> (__ffsll(rest) - 1) & 1) << rank;
    }
    return bits;
  }
  gpuport_hip::Lanes lanes_;
  unsigned meta_rank_, meta_size_;
};
__device__ inline coalesced_group coalesced_threads() { return coalesced_group(__ballot(1)); }

__device__ inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  if (parent.kind_ != thread_group::kLanes) {
    if (int(size) > warpSize) __builtin_trap();
    return thread_group(thread_group::kTile, size);
  }
  const unsigned first = unsigned(parent.thread_rank()) / size * size;
  gpuport_hip::Lanes lanes = parent.lanes_, part = 0;
  for (unsigned rank = 0; lanes != 0; lanes &= lanes - 1, ++rank) {
    if (rank >= first && rank < first + size) part |= lanes & -lanes;
  }
  return thread_group(thread_group::kLanes, 0, part);
}
__device__ inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned place = parent.thread_rank() / size;
  gpuport_hip::Lanes lanes = parent.lanes(), part = 0;
  for (unsigned rank = 0; lanes != 0; lanes &= lanes - 1, ++rank) {
    if (rank / size == place) part |= lanes & -lanes;
  }
  return coalesced_group(part, place, (parent.size() + size - 1) / size);
}

// The lanes of a group that say the same.
template <typename Group>
__device__ inline coalesced_group binary_partition(const Group& group, bool predicate) {
  const gpuport_hip::Lanes here = group.lanes() & __ballot(1), yes = __ballot(predicate);
  return coalesced_group(predicate ? here & yes : here & ~yes, predicate ? 0 : 1, 2);
}
template <typename Group, typename Label>
__device__ inline coalesced_group labeled_partition(const Group& group, Label label) {
  return coalesced_group(gpuport_hip::match_any(group.lanes(), label));
}

template <typename Group>
__device__ inline void sync(const Group& group) {
  group.sync();
}
template <typename Group>
__device__ inline auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <typename Group>
__device__ inline auto group_size(const Group& group) {
  return group.size();
}
template <typename Group>
__device__ inline bool is_valid(const Group& group) {
  return group.is_valid();
}

}  // namespace cooperative_groups
