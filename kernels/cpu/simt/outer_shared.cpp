// Shared objects that are declared outside of functions. Each is a variable of the OS thread, so that device code of
// any function names it as it is. A worker that turns to another of its blocks puts the contents of the one aside and
// brings those of the other; blocks that run to their end one after another cost one fill each.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "machine.h"

namespace gpuport::simt {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const OuterShared*> objects;
};
Registry& registry() {
  static Registry& instance = *new Registry;  // outlives every binary's static objects
  return instance;
}
[[maybe_unused]] const int registered = pthread_atfork(
    [] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); }, [] { registry().mutex.unlock(); });

// Where the binary that holds `address` is loaded; null where the loader does not say.
const void* binary_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

OuterShared::OuterShared(void* (*address)(), std::size_t bytes) : address(address), bytes(bytes) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  registry().objects.push_back(this);
}
OuterShared::~OuterShared() {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  std::erase(registry().objects, this);
}

void find_outer_shared(Launch& launch) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  if (registry().objects.empty()) return;
  const Request& request = *launch.request;
  // Without a function there is the call that was compiled where the kernel is.
  const void* const binary =
      binary_of(request.function != nullptr ? request.function : reinterpret_cast<const void*>(request.run));
  for (const OuterShared* const object : registry().objects) {
    if (binary_of(object) != binary) continue;
    launch.outer_shared.push_back(object);
    launch.outer_bytes += object->bytes;
  }
}

void start_outer_shared(BlockState& block, const Launch& launch) {
  block.outer.resize(launch.outer_bytes);
  poison(block.outer.data(), launch.outer_bytes, launch);
}

void bring_outer_shared(Worker& worker, BlockState& block) {
  if (worker.outer_owner == &block) return;
  char* aside = worker.outer_owner != nullptr ? worker.outer_owner->outer.data() : nullptr;
  const char* brought = block.outer.data();
  for (const OuterShared* const object : worker.launch->outer_shared) {
    void* const memory = object->address();
    if (aside != nullptr) {
      std::memcpy(aside, memory, object->bytes);
      aside += object->bytes;
    }
    std::memcpy(memory, brought, object->bytes);
    brought += object->bytes;
  }
  worker.outer_owner = &block;
}

}  // namespace gpuport::simt
