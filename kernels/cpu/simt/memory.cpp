// Allocations and copies. One registry knows which device, or the host, an address belongs to. A copy wants the results
// of the kernels before it, so it gives their failure; memory can be had and freed after one.
#include <pthread.h>
#include <sys/sysinfo.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "cuda_runtime_api.h"
#include "runtime_state.h"

namespace gpuport::simt {

namespace {

constexpr std::size_t kAlignment = 256;  // what cudaMalloc promises

struct Allocation {
  std::size_t bytes;
  cudaMemoryType type;
  int device;
  bool owned;
};

struct Registry {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;
};
Registry& registry() {
  static Registry& instance = *new Registry;  // outlives every static destructor that frees memory
  return instance;
}

// A fork waits for whoever is at the registry, so that the child finds it whole and its lock free.
[[maybe_unused]] const int registered = pthread_atfork(
    [] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); }, [] { registry().mutex.unlock(); });

cudaError_t fail(cudaError_t error) { return cudaError_t(set_error(error)); }

cudaError_t release(void* memory, bool owned, cudaError_t unknown) {
  if (memory == nullptr) return cudaSuccess;
  {
    Registry& known = registry();
    const std::lock_guard<std::mutex> lock(known.mutex);
    const auto found = known.allocations.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == known.allocations.end() || found->second.owned != owned) return fail(unknown);
    known.allocations.erase(found);
  }
  if (owned) std::free(memory);
  return cudaSuccess;
}

}  // namespace

cudaError_t allocate(void** memory, std::size_t bytes, cudaMemoryType type) {
  if (memory == nullptr) return fail(cudaErrorInvalidValue);
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (bytes > std::size_t(PTRDIFF_MAX) - kAlignment) return fail(cudaErrorMemoryAllocation);
  void* const block = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (block == nullptr) return fail(cudaErrorMemoryAllocation);
  int device = 0;
  cudaGetDevice(&device);
  Registry& known = registry();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.allocations[reinterpret_cast<std::uintptr_t>(block)] = {bytes, type, device, true};
  *memory = block;
  return cudaSuccess;
}

cudaError_t copy_symbol(void* to, const void* from, std::size_t symbol_bytes, std::size_t bytes, std::size_t offset) {
  if (const int failure = unread_failure()) return cudaError_t(failure);
  if (offset > symbol_bytes || bytes > symbol_bytes - offset) return fail(cudaErrorInvalidValue);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

}  // namespace gpuport::simt

using namespace gpuport::simt;

extern "C" {

cudaError_t cudaFree(void* memory) { return release(memory, true, cudaErrorInvalidValue); }
cudaError_t cudaFreeAsync(void* memory, cudaStream_t) { return release(memory, true, cudaErrorInvalidValue); }
cudaError_t cudaFreeHost(void* memory) { return release(memory, true, cudaErrorInvalidValue); }

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (memory == nullptr || bytes == 0) return fail(cudaErrorInvalidValue);
  int device = 0;
  cudaGetDevice(&device);
  Registry& known = registry();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto added = known.allocations.try_emplace(reinterpret_cast<std::uintptr_t>(memory),
                                                   Allocation{bytes, cudaMemoryTypeHost, device, false});
  return added.second ? cudaSuccess : fail(cudaErrorHostMemoryAlreadyRegistered);
}
cudaError_t cudaHostUnregister(void* memory) { return release(memory, false, cudaErrorHostMemoryNotRegistered); }

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  struct sysinfo info;
  if (sysinfo(&info) != 0) return fail(cudaErrorUnknown);
  if (free != nullptr) *free = std::size_t(info.freeram + info.bufferram) * info.mem_unit;
  if (total != nullptr) *total = std::size_t(info.totalram) * info.mem_unit;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return fail(cudaErrorInvalidValue);
  void* const address = const_cast<void*>(pointer);
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
  Registry& known = registry();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto place = reinterpret_cast<std::uintptr_t>(pointer);
  auto found = known.allocations.upper_bound(place);
  if (found == known.allocations.begin()) return cudaSuccess;
  --found;
  if (place - found->first >= found->second.bytes) return cudaSuccess;
  *attributes = {found->second.type, found->second.device, address,
                 found->second.type == cudaMemoryTypeDevice ? nullptr : address};
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (const int failure = unread_failure()) return cudaError_t(failure);
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return fail(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return fail(cudaErrorInvalidValue);
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  if (const int failure = unread_failure()) return cudaError_t(failure);
  if (width > to_pitch || width > from_pitch) return fail(cudaErrorInvalidValue);
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error = cudaMemcpy(static_cast<char*>(to) + row * to_pitch,
                                         static_cast<const char*>(from) + row * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes) {
  if (const int failure = unread_failure()) return cudaError_t(failure);
  if (bytes == 0) return cudaSuccess;
  if (memory == nullptr) return fail(cudaErrorInvalidValue);
  std::memset(memory, byte, bytes);
  return cudaSuccess;
}
}
