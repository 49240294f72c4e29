// Launching: the only launch syntax of the project, and the check after it.
#pragma once

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "call.hpp"
#include "runtime.hpp"

namespace gp {

struct Grid {
  index_t blocks;
  int threads;                   // a multiple of every warp width
  std::size_t shared_bytes = 0;  // dynamic
};

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
  return blocks_for((items + per_block - 1) / per_block, threads);
}

namespace detail {

inline void check_launch(cudaError_t status, const Call& call, const Grid& grid) {
  if (status == cudaSuccess) return;
  const std::string text = std::string(call.name) + ": launch of " + std::to_string(grid.blocks) + " blocks of " +
                           std::to_string(grid.threads) + " threads with warps of " + std::to_string(call.warp_size) +
                           " failed: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  throw Error(lacks_code(status) ? ErrorKind::kUnsupportedArch : ErrorKind::kLaunch, text);
}

}  // namespace detail

// Enqueues the kernel on the call's stream. A grid of no blocks is no work, not an error. The error state is cleared
// first: a failure that some other library left behind is not this launch's.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const Call& call, const Grid& grid, const Arguments&... arguments) {
  if (grid.blocks == 0) return;
  (void)cudaGetLastError();
  kernel<<<dim3(unsigned(grid.blocks)), dim3(unsigned(grid.threads)), grid.shared_bytes, call.stream>>>(
      Parameters(arguments)...);
  detail::check_launch(cudaGetLastError(), call, grid);
}

// How many blocks of the kernel the device can hold at once.
template <typename... Parameters>
index_t resident_blocks(void (*kernel)(Parameters...), const Call& call, int threads, std::size_t shared_bytes = 0) {
  int per_processor = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, threads, shared_bytes),
        "asking how many blocks fit");
  return index_t(per_processor) * device_attribute(cudaDevAttrMultiProcessorCount, call.device);
}

// How many blocks of one kernel fit on a device at once. The driver takes microseconds to answer, so it is asked once
// for each shape. Lets the kernel have that much shared memory as well.
class Residency {
 public:
  template <typename... Parameters>
  index_t blocks(void (*kernel)(Parameters...), const Call& call, int threads, std::size_t shared_bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::size_t most = shared_bytes;
    for (const Answer& known : answers_) {
      if (known.device != call.device) continue;
      if (known.threads == threads && known.shared_bytes == shared_bytes) return known.blocks;
      most = std::max(most, known.shared_bytes);  // a smaller limit would shut out that shape again
    }
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               int(most)),
          "asking for shared memory");
    const index_t count = resident_blocks(kernel, call, threads, shared_bytes);
    if (count == 0) {
      throw Error(ErrorKind::kValue, std::string(call.name) + ": the device cannot hold a block of " +
                                         std::to_string(threads) + " threads and " + std::to_string(shared_bytes) +
                                         " bytes of shared memory");
    }
    answers_.push_back({call.device, threads, shared_bytes, count});
    return count;
  }

 private:
  struct Answer {
    int device, threads;
    std::size_t shared_bytes;
    index_t blocks;
  };
  std::mutex mutex_;
  std::vector<Answer> answers_;
};

// As launch(), for blocks that wait for each other: all of them run at once or the launch is refused. Always a
// cooperative launch, so that two streams cannot each hold half of the device and wait for ever.
template <typename... Parameters, typename... Arguments>
void launch_resident(void (*kernel)(Parameters...), const Call& call, const Grid& grid, const Arguments&... arguments) {
  if (grid.blocks == 0) return;
  (void)cudaGetLastError();
  // One object per parameter, of exactly its type: the runtime reads them through untyped pointers.
  [&](Parameters... values) {
    void* addresses[] = {static_cast<void*>(&values)...};
    const cudaError_t status = cudaLaunchCooperativeKernel(
        kernel, dim3(unsigned(grid.blocks)), dim3(unsigned(grid.threads)), addresses, grid.shared_bytes, call.stream);
    (void)cudaGetLastError();
    detail::check_launch(status, call, grid);
  }(Parameters(arguments)...);
}

}  // namespace gp
