// Launching: the only place that enqueues kernels, and what a failed launch says.
#pragma once

#include <limits>

#include "async.cuh"
#include "call.hpp"
#include "runtime.hpp"

namespace gp {

// Blocks of a grid's first dimension, on every backend. A test makes them few, so that kernels stride over the rest.
#ifndef GP_MAX_BLOCKS
#define GP_MAX_BLOCKS 0x7fffffff
#endif
inline constexpr index_t kAnyLength = std::numeric_limits<index_t>::max();  // in tables of policies
inline constexpr index_t kMaxBlocks = GP_MAX_BLOCKS;

// One block for each of `items`, as far as a grid goes; kernels stride over the rest.
inline Grid blocks_for(index_t items, int threads) { return {items < kMaxBlocks ? items : kMaxBlocks, threads}; }

// One group of `lanes` threads for each of `items`.
inline Grid groups_for(index_t items, int lanes, int threads) {
  const index_t per_block = threads / lanes;
  return blocks_for(ceil_div(items, per_block), threads);
}

namespace detail {

// One object for each parameter, of exactly its type: the runtime reads them through untyped pointers. The status is
// the call's own; the error state, where other libraries may have left theirs, is neither read nor cleared.
template <bool kResident, typename... Parameters>
void enqueue(void (*kernel)(Parameters...), const Call& call, const Grid& grid, Parameters... values) {
  if (grid.blocks == 0) return;
  void* addresses[] = {static_cast<void*>(&values)...};
  const dim3 blocks(unsigned(grid.blocks)), threads { unsigned(grid.threads) };
  const auto launched = [&] {
    if constexpr (kTarget == Target::kCuda && (std::is_same_v<Parameters, Overlap> || ...)) {
      if (overlaps(launchable(kernel), call.device)) {
        // A cast, because HIP on NVIDIA has a type of its own for the status.
        return cudaError_t(enqueue_overlapped(launchable(kernel), blocks, threads, addresses, grid.shared_bytes,
                                              call.stream, kResident));
      }
    }
    if constexpr (kResident) {
      return cudaLaunchCooperativeKernel(launchable(kernel), blocks, threads, addresses, grid.shared_bytes,
                                         call.stream);
    } else {
      return cudaLaunchKernel(launchable(kernel), blocks, threads, addresses, grid.shared_bytes, call.stream);
    }
  };
  const cudaError_t status = launched();
  if (status != cudaSuccess) fail_launch(status, call, grid);
}

}  // namespace detail

// Enqueues the kernel on the call's stream. A grid of no blocks is no work, not an error. A kernel that has an Overlap
// may begin while the one ahead of it ends.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const Call& call, const Grid& grid, const Arguments&... arguments) {
  detail::enqueue<false, Parameters...>(kernel, call, grid, Parameters(arguments)...);
}

// How many blocks of the kernel a device holds at once; a kernel that would not fit at all is an Error. The driver
// takes microseconds to answer, so it is asked once for each shape. Lets the kernel have that much shared memory as
// well.
template <typename... Parameters>
index_t resident_blocks(void (*kernel)(Parameters...), const Call& call, int threads, std::size_t shared_bytes = 0) {
  return resident_blocks(reinterpret_cast<const void*>(kernel), call, threads, shared_bytes);
}

// As launch(), for blocks that wait for each other: all of them run at once or the launch is refused. Always a
// cooperative launch, so that two streams cannot each hold half of the device and wait for ever.
template <typename... Parameters, typename... Arguments>
void launch_resident(void (*kernel)(Parameters...), const Call& call, const Grid& grid, const Arguments&... arguments) {
  detail::enqueue<true, Parameters...>(kernel, call, grid, Parameters(arguments)...);
}

}  // namespace gp
