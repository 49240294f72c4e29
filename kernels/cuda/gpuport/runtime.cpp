#include "runtime.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

struct CUuserObject_st;  // cudaUserObject_t points to it; older HIP has neither

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

struct GraphMemory {
  int device;
  void* address;
  std::size_t tagged, capacity;  // words; bytes of data
  std::size_t bytes() const { return tagged * sizeof(std::uint64_t) + capacity; }
};
// By the number of the capture, which no other has.
using CaptureKey = std::pair<unsigned long long, BufferKey>;
constexpr std::size_t kLeastGraphWords = 4096, kLeastGraphBytes = 1 << 16;  // so that few calls need more

// What calls share. Never destroyed: calls may come late, and the driver may be gone before static destructors run.
struct Shared {
  std::mutex residents_mutex, buffers_mutex, graphs_mutex;
  std::mutex capturing;  // held for the length of a call whose launches are captured
  std::vector<Residents> residents;
  std::map<BufferKey, std::unique_ptr<WorkspaceBuffer>> buffers;
  std::map<CaptureKey, GraphMemory> captured;
  std::vector<GraphMemory> spare;
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

bool overlaps(const void* kernel, int device) {
  enum : std::int8_t { kUnknown, kNo, kYes };
  constexpr int kLeastDriver = 12030, kLeastCode = 90;
  static const bool is_off = [] {
    const char* const wish = std::getenv("GPUPORT_OVERLAP");
    return wish != nullptr && std::strcmp(wish, "0") == 0;
  }();
  if (is_off) return false;
  // All kernels of a module are compiled for the same devices, so the first one that is asked about stands for all.
  static std::atomic<std::int8_t> known[64];
  const bool is_kept = device >= 0 && device < int(std::size(known));
  if (is_kept && known[device] != kUnknown) return known[device] == kYes;
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) {
    (void)cudaGetLastError();  // the launch will say what is wrong
    return false;
  }
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "reading the driver's version");
  const bool answer = driver >= kLeastDriver && attributes.ptxVersion >= kLeastCode;
  if (is_kept) known[device] = answer ? kYes : kNo;
  return answer;
}

int device_attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device), "reading a device attribute");
  return value;
}

int most_shared_bytes(int device) {
  // AMD's runtime refuses the first question (HIP 5) or answers 0 (6.0): there every block may have all there is.
  int bytes = 0;
  const cudaError_t status = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (status == cudaSuccess && bytes > 0) return bytes;
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlock, device);
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

// Counters, the number of replays, tagged words, data.
constexpr std::size_t kCounterBytes = std::size_t(kCounters) * sizeof(std::uint32_t);
constexpr std::size_t kHeaderBytes = kCounterBytes + 2 * sizeof(std::uint64_t);

std::size_t cleared_bytes(std::size_t tagged) { return kHeaderBytes + tagged * sizeof(std::uint64_t); }

BufferKey key_of(int device, cudaStream_t stream) {
  const bool per_thread = stream == cudaStreamPerThread;
  return {device, stream, per_thread ? std::this_thread::get_id() : std::thread::id()};
}

WorkspaceBuffer& buffer_of(int device, cudaStream_t stream) {
  const BufferKey key = key_of(device, stream);
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

// Stream-ordered, so nothing waits.
void* allocate_cleared(std::size_t tagged, std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  check(cudaMallocAsync(&memory, cleared_bytes(tagged) + bytes, stream), "allocating temporary storage");
  const cudaError_t status = cudaMemsetAsync(memory, 0, cleared_bytes(tagged), stream);
  if (status != cudaSuccess) (void)cudaFreeAsync(memory, stream);
  check(status, "clearing temporary storage");
  return memory;
}

// What is not allowed while any stream is being captured is allowed while this lives, on streams that are not.
class BesideCapture {
 public:
  BesideCapture() {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "allocating beside a capture");
    const cudaError_t status = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    if (status != cudaSuccess) (void)cudaThreadExchangeStreamCaptureMode(&mode_);
    check(status, "creating a stream");
  }
  ~BesideCapture() {
    (void)cudaStreamDestroy(stream_);
    (void)cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  BesideCapture(const BesideCapture&) = delete;
  BesideCapture& operator=(const BesideCapture&) = delete;

  // Cleared when it returns. Memory that a graph has given back is taken before more is allocated.
  GraphMemory take(int device, std::size_t tagged, std::size_t bytes) {
    GraphMemory memory{device, nullptr, tagged, bytes};
    {
      const std::lock_guard<std::mutex> lock(shared->graphs_mutex);
      auto& spare = shared->spare;
      auto best = spare.end();
      for (auto each = spare.begin(); each != spare.end(); ++each) {
        const bool fits = each->device == device && each->tagged >= tagged && each->capacity >= bytes;
        if (fits && (best == spare.end() || each->bytes() < best->bytes())) best = each;
      }
      if (best != spare.end()) {
        memory = *best;
        spare.erase(best);
      }
    }
    if (memory.address == nullptr) {
      check(cudaMallocAsync(&memory.address, cleared_bytes(tagged) + bytes, stream_), "allocating temporary storage");
    }
    try {
      check(cudaMemsetAsync(memory.address, 0, cleared_bytes(memory.tagged), stream_), "clearing temporary storage");
      check(cudaStreamSynchronize(stream_), "clearing temporary storage");
    } catch (...) {
      (void)cudaFreeAsync(memory.address, stream_);
      throw;
    }
    return memory;
  }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  cudaStream_t stream_ = nullptr;
};

// By the runtime, when the last graph that has the memory is gone; it may make no calls of the runtime.
void give_back(void* owned) {
  const std::unique_ptr<GraphMemory> memory(static_cast<GraphMemory*>(owned));
  const std::lock_guard<std::mutex> lock(shared->graphs_mutex);
  shared->spare.push_back(*memory);
  std::erase_if(shared->captured, [&](const auto& entry) { return entry.second.address == memory->address; });
}

// Storage for what is captured from the stream: of the graph, and the same for all its launches from that stream, which
// follow each other. False where the runtime has nothing that ends with a graph (HIP 5.2); a template, because it lacks
// the names as well.
template <typename Stream, typename Object = CUuserObject_st*>
bool of_graph(int device, Stream stream, std::size_t tagged, std::size_t bytes, GraphMemory& memory) {
  if constexpr (kTarget == Target::kCuda) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long capture = 0;
    cudaGraph_t graph = nullptr;
    check(cudaStreamGetCaptureInfo(stream, &status, &capture, &graph), "asking for the graph that is being captured");
    if (status != cudaStreamCaptureStatusActive) {
      check(cudaErrorStreamCaptureInvalidated, "asking for the graph that is being captured");
    }
    const CaptureKey key{capture, key_of(device, stream)};
    {
      const std::lock_guard<std::mutex> lock(shared->graphs_mutex);
      const auto known = shared->captured.find(key);
      if (known != shared->captured.end() && known->second.tagged >= tagged && known->second.capacity >= bytes) {
        memory = known->second;
        return true;
      }
    }
    memory = BesideCapture().take(device, std::max(tagged, kLeastGraphWords), std::max(bytes, kLeastGraphBytes));
    constexpr unsigned kNoDestructorSync = 1, kMove = 1;  // the only flags that there are
    Object object = nullptr;
    auto* const owned = new GraphMemory{memory};
    const cudaError_t created = cudaUserObjectCreate(&object, owned, give_back, 1, kNoDestructorSync);
    if (created != cudaSuccess) give_back(owned);
    check(created, "owning temporary storage");
    const cudaError_t retained = cudaGraphRetainUserObject(graph, object, 1, kMove);
    if (retained != cudaSuccess) (void)cudaUserObjectRelease(object, 1);
    check(retained, "owning temporary storage");
    const std::lock_guard<std::mutex> lock(shared->graphs_mutex);
    shared->captured[key] = memory;
    return true;
  }
  return false;
}

}  // namespace

Workspace::Workspace(const Call& call, std::size_t bytes, std::size_t tagged) : stream_(call.stream) {
  tagged = (tagged + 1) / 2 * 2;  // the data keep an alignment of 16 bytes
  void* memory = nullptr;
  GraphMemory of_its_graph{};
  const bool is_captured = is_capturing(stream_);
  std::unique_lock<std::mutex> captures(shared->capturing, std::defer_lock);
  if (is_captured) captures.lock();
  if (!is_captured) {
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
    if (tagged != 0) tag_.tag = ++buffer.tag;
    tagged = buffer.tagged;
    lock.release();  // the destructor gives it back
    buffer_ = &buffer;
  } else if (of_graph(call.device, stream_, tagged, bytes, of_its_graph)) {
    memory = of_its_graph.address;
    tagged = of_its_graph.tagged;
    tag_.replays = reinterpret_cast<std::uint64_t*>(static_cast<char*>(memory) + kCounterBytes);
  } else {
    owned_ = true;  // and cleared by each replay: the first tag is right for all of them
    memory = allocate_cleared(tagged, bytes, stream_);
  }
  counters_ = static_cast<std::uint32_t*>(memory);
  tagged_ = reinterpret_cast<std::uint64_t*>(static_cast<char*>(memory) + kHeaderBytes);
  data_ = tagged_ + tagged;
  (void)captures.release();  // the destructor gives it back
}

Workspace::~Workspace() {
  if (owned_) (void)cudaFreeAsync(counters_, stream_);
  (buffer_ != nullptr ? buffer_->mutex : shared->capturing).unlock();
}

std::size_t workspace_bytes(int device, cudaStream_t stream) {
  WorkspaceBuffer& buffer = buffer_of(device, stream);
  const std::lock_guard<std::mutex> lock(buffer.mutex);
  return buffer.memory == nullptr ? 0 : cleared_bytes(buffer.tagged) + buffer.capacity;
}

}  // namespace gp
