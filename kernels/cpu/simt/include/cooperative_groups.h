// Cooperative groups: the block, the grid, tiles, the lanes that are together, and parts of these.
#pragma once

#include "cuda_runtime.h"

#include "gpuport_simt/group_of_warps.h"

namespace cooperative_groups {

template <unsigned kMostThreads = 1024>
struct block_tile_memory {};  // tiles of several warps find their memory without it

class thread_block {
  using Site = gpuport::simt::Site;

 public:
  struct arrival_token {};
  static void sync(Site site = Site::here()) { __syncthreads(site); }
  // The wait alone is the whole barrier: nobody leaves it before everybody has arrived.
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token, Site site = Site::here()) { __syncthreads(site); }
  static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }
template <unsigned kMostThreads>
thread_block this_thread_block(block_tile_memory<kMostThreads>&) {
  return {};
}

class grid_group {
 public:
  static unsigned long long block_rank() {
    return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)(gridDim.y) * blockIdx.z);
  }
  static unsigned long long num_blocks() { return (unsigned long long)(gridDim.x) * gridDim.y * gridDim.z; }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static dim3 block_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_threads() { return {gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z}; }
  static bool is_valid() { return gpuport::simt::is_resident(); }
  static void sync(gpuport::simt::Site site = gpuport::simt::Site::here()) { gpuport::simt::wait_grid(site); }
};
inline grid_group this_grid() { return {}; }

__attribute__((error("the CPU backend has no clusters of blocks"))) grid_group this_cluster();

}  // namespace cooperative_groups

#include "gpuport_simt/coalesced_group.h"
#include "gpuport_simt/block_tile.h"
#include "gpuport_simt/thread_group.h"
#include "gpuport_simt/group_partitions.h"
