// Launching: the only launch syntax of the project, and the check after it.
#pragma once

#include <limits>

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

// Enqueues the kernel on the call's stream. A grid of no blocks is no work, not an error. The error state is cleared
// first: a failure that some other library left behind is not this launch's.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const Call& call, const Grid& grid, const Arguments&... arguments) {
  if (grid.blocks == 0) return;
  (void)cudaGetLastError();
  kernel<<<dim3(unsigned(grid.blocks)), dim3(unsigned(grid.threads)), grid.shared_bytes, call.stream>>>(
      Parameters(arguments)...);
  check_launch(cudaGetLastError(), call, grid);
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
  if (grid.blocks == 0) return;
  (void)cudaGetLastError();
  // One object per parameter, of exactly its type: the runtime reads them through untyped pointers.
  [&](Parameters... values) {
    void* addresses[] = {static_cast<void*>(&values)...};
    const cudaError_t status = cudaLaunchCooperativeKernel(
        kernel, dim3(unsigned(grid.blocks)), dim3(unsigned(grid.threads)), addresses, grid.shared_bytes, call.stream);
    (void)cudaGetLastError();
    check_launch(status, call, grid);
  }(Parameters(arguments)...);
}

}  // namespace gp
