#include "runtime.hpp"

#include <map>
#include <memory>
#include <thread>
#include <tuple>

namespace gp {

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // reported here; it must not surface again in an unrelated call
  const std::string text =
      std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ") while " + doing;
  const ErrorKind kind = status == cudaErrorMemoryAllocation ? ErrorKind::kMemory
                         : lacks_code(status)                ? ErrorKind::kUnsupportedArch
                                                             : ErrorKind::kRuntime;
  throw Error(kind, text);
}

int device_attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device), "reading a device attribute");
  return value;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "asking whether the stream is being captured");
  return status != cudaStreamCaptureStatusNone;
}

DeviceScope::DeviceScope(int device) : device_(device), previous_(device) {
  check(cudaGetDevice(&previous_), "reading the current device");
  if (previous_ != device_) check(cudaSetDevice(device_), "making the array's device current");
}

DeviceScope::~DeviceScope() {
  if (previous_ != device_) (void)cudaSetDevice(previous_);
}

namespace {

constexpr std::size_t kCounterBytes = std::size_t(kCounters) * sizeof(std::uint32_t);

struct Buffer {
  std::mutex mutex;
  void* memory = nullptr;
  std::size_t capacity = 0;
};

// The per-thread default stream is one handle for many streams, so the thread belongs to the key.
using BufferKey = std::tuple<int, cudaStream_t, std::thread::id>;

Buffer& buffer_of(int device, cudaStream_t stream) {
  // Never destroyed: the driver may be gone before static destructors run.
  static std::mutex& mutex = *new std::mutex;
  static auto& buffers = *new std::map<BufferKey, std::unique_ptr<Buffer>>;
  const bool per_thread = stream == cudaStreamPerThread;
  const BufferKey key{device, stream, per_thread ? std::this_thread::get_id() : std::thread::id()};
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Buffer>& buffer = buffers[key];
  if (!buffer) buffer = std::make_unique<Buffer>();
  return *buffer;
}

// Counters first, then the data. Stream-ordered, so nothing waits.
void* allocate_zeroed_counters(std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  check(cudaMallocAsync(&memory, kCounterBytes + bytes, stream), "allocating temporary storage");
  const cudaError_t status = cudaMemsetAsync(memory, 0, kCounterBytes, stream);
  if (status != cudaSuccess) (void)cudaFreeAsync(memory, stream);
  check(status, "clearing temporary storage");
  return memory;
}

}  // namespace

Workspace::Workspace(const Call& call, std::size_t bytes) : stream_(call.stream) {
  void* memory = nullptr;
  if (is_capturing(stream_)) {
    owned_ = true;
    memory = allocate_zeroed_counters(bytes, stream_);
  } else {
    Buffer& buffer = buffer_of(call.device, call.stream);
    lock_ = std::unique_lock<std::mutex>(buffer.mutex);
    if (buffer.memory == nullptr || buffer.capacity < bytes) {
      void* larger = allocate_zeroed_counters(bytes, stream_);
      if (buffer.memory != nullptr) check(cudaFreeAsync(buffer.memory, stream_), "freeing temporary storage");
      buffer.memory = larger;
      buffer.capacity = bytes;
    }
    memory = buffer.memory;
  }
  counters_ = static_cast<std::uint32_t*>(memory);
  data_ = static_cast<char*>(memory) + kCounterBytes;
}

Workspace::~Workspace() {
  if (owned_) (void)cudaFreeAsync(counters_, stream_);
}

std::size_t workspace_bytes(int device, cudaStream_t stream) {
  Buffer& buffer = buffer_of(device, stream);
  const std::lock_guard<std::mutex> lock(buffer.mutex);
  return buffer.memory == nullptr ? 0 : kCounterBytes + buffer.capacity;
}

}  // namespace gp
