#include "runtime.hpp"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace gp {

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // reported here; it must not surface again in an unrelated call
  const ErrorKind kind = status == cudaErrorMemoryAllocation ? ErrorKind::kMemory
                         : lacks_code(status)                ? ErrorKind::kUnsupportedArch
                                                             : ErrorKind::kRuntime;
  fail(kind, cudaGetErrorString(status), " (", cudaGetErrorName(status), ") while ", doing);
}

void fail_launch(cudaError_t status, const Call& call, const Grid& grid) {
  (void)cudaGetLastError();  // reported here
  fail(lacks_code(status) ? ErrorKind::kUnsupportedArch : ErrorKind::kLaunch, call.name, ": launch of ", grid.blocks,
       " blocks of ", grid.threads, " threads with warps of ", call.warp_size, " failed: ", cudaGetErrorString(status),
       " (", cudaGetErrorName(status), ")");
}

struct WorkspaceBuffer {
  std::mutex mutex;
  void* memory = nullptr;
  std::size_t tagged = 0;    // words
  std::size_t capacity = 0;  // bytes of data
  std::uint32_t tag = 0;     // of the last launch
};

namespace {

struct Residents {
  const void* kernel;
  int device, threads;
  std::size_t shared_bytes;
  index_t blocks;
};

// The per-thread default stream is one handle for many streams, so the thread belongs to the key.
using BufferKey = std::tuple<int, cudaStream_t, std::thread::id>;

// What calls share. Never destroyed: calls may come late, and the driver may be gone before static destructors run.
struct Shared {
  std::mutex residents_mutex, buffers_mutex;
  std::vector<Residents> residents;
  std::map<BufferKey, std::unique_ptr<WorkspaceBuffer>> buffers;
};
Shared* shared = new Shared;

// A forked child shares nothing with its parent's calls: another thread may have held a lock, or been in the midst of
// a launch that counts in a buffer.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { shared = new Shared; });

}  // namespace

index_t resident_blocks(const void* kernel, const Call& call, int threads, std::size_t shared_bytes) {
  std::vector<Residents>& answers = shared->residents;
  const std::lock_guard<std::mutex> lock(shared->residents_mutex);
  std::size_t most = shared_bytes;
  for (const Residents& known : answers) {
    if (known.kernel != kernel || known.device != call.device) continue;
    if (known.threads == threads && known.shared_bytes == shared_bytes) return known.blocks;
    most = std::max(most, known.shared_bytes);  // a smaller limit would shut out that shape again
  }
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(most)),
        "asking for shared memory");
  int per_processor = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, threads, shared_bytes),
        "asking how many blocks fit");
  if (per_processor == 0) {
    fail(ErrorKind::kValue, call.name, ": the device cannot hold a block of ", threads, " threads and ", shared_bytes,
         " bytes of shared memory");
  }
  const index_t blocks = index_t(per_processor) * device_attribute(cudaDevAttrMultiProcessorCount, call.device);
  answers.push_back({kernel, call.device, threads, shared_bytes, blocks});
  return blocks;
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

WorkspaceBuffer& buffer_of(int device, cudaStream_t stream) {
  const bool per_thread = stream == cudaStreamPerThread;
  const BufferKey key{device, stream, per_thread ? std::this_thread::get_id() : std::thread::id()};
  // A thread mostly stays on one stream. Buffers are never destroyed, so what it remembers holds, until it is forked.
  thread_local BufferKey last_key;
  thread_local WorkspaceBuffer* last = nullptr;
  thread_local const Shared* last_shared = nullptr;
  if (last_shared == shared && last_key == key) return *last;
  const std::lock_guard<std::mutex> lock(shared->buffers_mutex);
  std::unique_ptr<WorkspaceBuffer>& buffer = shared->buffers[key];
  if (!buffer) buffer = std::make_unique<WorkspaceBuffer>();
  last_key = key;
  last = buffer.get();
  last_shared = shared;
  return *buffer;
}

std::size_t cleared_bytes(std::size_t tagged) { return kCounterBytes + tagged * sizeof(std::uint64_t); }

// Counters, tagged words, data. Stream-ordered, so nothing waits.
void* allocate_cleared(std::size_t tagged, std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  check(cudaMallocAsync(&memory, cleared_bytes(tagged) + bytes, stream), "allocating temporary storage");
  const cudaError_t status = cudaMemsetAsync(memory, 0, cleared_bytes(tagged), stream);
  if (status != cudaSuccess) (void)cudaFreeAsync(memory, stream);
  check(status, "clearing temporary storage");
  return memory;
}

}  // namespace

Workspace::Workspace(const Call& call, std::size_t bytes, std::size_t tagged) : stream_(call.stream) {
  tagged = (tagged + 1) / 2 * 2;  // the data keep an alignment of 16 bytes
  void* memory = nullptr;
  if (is_capturing(stream_)) {
    owned_ = true;  // and cleared by each replay: the first tag is right for all of them
    memory = allocate_cleared(tagged, bytes, stream_);
  } else {
    WorkspaceBuffer& buffer = buffer_of(call.device, call.stream);
    std::unique_lock<std::mutex> lock(buffer.mutex);
    if (buffer.memory == nullptr || buffer.capacity < bytes || buffer.tagged < tagged) {
      const std::size_t most_tagged = std::max(buffer.tagged, tagged), most = std::max(buffer.capacity, bytes);
      void* larger = allocate_cleared(most_tagged, most, stream_);
      if (buffer.memory != nullptr) check(cudaFreeAsync(buffer.memory, stream_), "freeing temporary storage");
      buffer.memory = larger;
      buffer.tagged = most_tagged;
      buffer.capacity = most;
      buffer.tag = 0;
    } else if (tagged != 0 && buffer.tag == ~std::uint32_t(0)) {
      // Hours of launches later the tags start again, and words of that age must not pass for new ones.
      check(cudaMemsetAsync(buffer.memory, 0, cleared_bytes(buffer.tagged), stream_), "clearing temporary storage");
      buffer.tag = 0;
    }
    memory = buffer.memory;
    if (tagged != 0) tag_ = ++buffer.tag;
    tagged = buffer.tagged;
    lock.release();  // the destructor gives it back
    buffer_ = &buffer;
  }
  counters_ = static_cast<std::uint32_t*>(memory);
  tagged_ = reinterpret_cast<std::uint64_t*>(static_cast<char*>(memory) + kCounterBytes);
  data_ = tagged_ + tagged;
}

Workspace::~Workspace() {
  if (owned_) (void)cudaFreeAsync(counters_, stream_);
  if (buffer_ != nullptr) buffer_->mutex.unlock();
}

std::size_t workspace_bytes(int device, cudaStream_t stream) {
  WorkspaceBuffer& buffer = buffer_of(device, stream);
  const std::lock_guard<std::mutex> lock(buffer.mutex);
  return buffer.memory == nullptr ? 0 : cleared_bytes(buffer.tagged) + buffer.capacity;
}

}  // namespace gp
