// A block at its start: its threads' indices, its shared memory.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "gpuport_simt/errors.h"
#include "machine.h"

namespace gpuport::simt {

namespace {

constexpr std::size_t kArenaAlignment = 1024;

std::size_t round_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

// Read as a floating-point number of any width it is a NaN,
// as an integer of 16 bits or more it is far from zero. The sign follows the seed, so that neither a maximum nor a
// minimum hides it.
void poison(char* memory, std::size_t bytes, const Launch& launch) {
  const std::uint16_t half = launch.seeded && launch.seed % 2 == 1 ? 0xfff5u : 0x7ff5u;
  const std::uint64_t word = half * 0x0001000100010001u;
  std::size_t i = 0;
  for (; i + sizeof word <= bytes; i += sizeof word) std::memcpy(memory + i, &word, sizeof word);
  std::memcpy(memory + i, &word, bytes - i);
}

BlockState::BlockState(dim3 shape, unsigned warp_size, std::size_t arena_bytes)
    : shape(shape),
      warp_size(warp_size),
      arena_bytes(arena_bytes),
      arena(static_cast<char*>(std::aligned_alloc(kArenaAlignment, round_up(arena_bytes, kArenaAlignment))),
            std::free) {
  if (!arena) throw std::bad_alloc();
  threads = shape.x * shape.y * shape.z;
  warps = (threads + warp_size - 1) / warp_size;
  warp_storage = std::make_unique<Warp[]>(warps);
  warp = warp_storage.get();
  for (unsigned w = 0; w < warps; ++w) {
    const unsigned lanes = w + 1 < warps ? warp_size : threads - w * warp_size;
    warp[w].full = ~LaneMask(0) >> (kMaxLanes - lanes);
    warp[w].index = static_cast<unsigned char>(w);
    warp[w].block = this;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const unsigned i = w * warp_size + lane;
      warp[w].thread[lane] = {i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
    }
  }
}

void BlockState::start(const Launch& launch, std::uint64_t number) {
  using Wide = unsigned __int128;
  const auto i = std::uint64_t((Wide(number) * launch.order_step + launch.order_start) % launch.blocks);
  index = {unsigned(i % launch.grid.x), unsigned(i / launch.grid.x % launch.grid.y),
           unsigned(i / launch.grid.x / launch.grid.y)};
  arrived = exited = 0;
  ready_warps = unsigned((std::uint64_t(1) << warps) - 1);
  polled_warps = 0;
  phase = 0;
  votes[phase] = 0;
  for (unsigned w = 0; w < warps; ++w) {
    warp[w].ready = warp[w].full;
    warp[w].exited = 0;
    warp[w].phase = 0;
    warp[w].vote[warp[w].phase] = 0;  // a block that was torn down may have left votes
    warp[w].natural = !launch.seeded;
  }
  objects.clear();
  arena_used = launch.dynamic_bytes;
  poison(arena.get(), launch.dynamic_bytes, launch);
  if (launch.outer_bytes != 0) [[unlikely]]
    start_outer_shared(*this, launch);
}

void* shared_object(const void* tag, std::size_t bytes, std::size_t alignment, const char* name, Site site) {
  BlockState& block = state(current_warp);
  for (const BlockState::SharedObject& object : block.objects)
    if (object.tag == tag) return object.memory;
  const Launch& launch = *current_worker->launch;
  const std::size_t at = round_up(block.arena_used, alignment);
  if (at + bytes > launch.shared_limit)
    stop(cudaErrorInvalidConfiguration,
         "shared memory over the limit: " + std::string(name) + " at " + site_text(site) + " takes " +
             std::to_string(bytes) + " bytes beside " + std::to_string(block.arena_used) + " (" +
             std::to_string(launch.dynamic_bytes) + " of them dynamic), the limit is " +
             std::to_string(launch.shared_limit) + " (cudaFuncSetAttribute raises it up to " +
             std::to_string(kSharedOptIn) + ")");
  char* const memory = block.arena.get() + at;
  block.arena_used = at + bytes;
  poison(memory, bytes, launch);
  block.objects.push_back({tag, memory});
  return memory;
}

bool is_shared(const void* address) {
  const BlockState& block = state(current_warp);
  const auto* const place = static_cast<const char*>(address);
  if (place >= block.arena.get() && place < block.arena.get() + block.arena_bytes) return true;
  for (const OuterShared* const object : current_worker->launch->outer_shared) {
    const auto* const memory = static_cast<const char*>(object->address());
    if (place >= memory && place < memory + object->bytes) return true;
  }
  return false;
}
bool is_local(const void* address) { return current_worker->stacks->used(address) != 0; }

void* dynamic_shared(std::size_t, Site) { return state(current_warp).arena.get(); }

}  // namespace gpuport::simt
