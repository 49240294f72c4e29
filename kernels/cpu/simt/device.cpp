// The two devices, their attributes, limits of functions, streams and events.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "cuda_runtime_api.h"
#include "machine.h"
#include "runtime_state.h"

namespace gpuport::simt {

namespace {

constexpr int kDevices = 2;
constexpr int kVersion = CUDART_VERSION;
constexpr int kThreadsPerProcessor = 2048, kBlocksPerProcessor = 32;
constexpr int kLastAttribute = 147;
thread_local int current_device = 0;

unsigned width_of(int device) { return device == 0 ? 32 : 64; }

std::mutex limits_mutex;
// A forked child finds the lock free, and the limits as they were.
[[maybe_unused]] const int registered =
    pthread_atfork([] { limits_mutex.lock(); }, [] { limits_mutex.unlock(); }, [] { limits_mutex.unlock(); });
std::map<const void*, int>& dynamic_limits() {  // of functions that asked for more
  static auto& limits = *new std::map<const void*, int>;
  return limits;
}
std::atomic<std::size_t> stack_bytes{kDefaultStackBytes};

cudaError_t fail(cudaError_t error) { return cudaError_t(set_error(error)); }

}  // namespace

unsigned current_device_width() { return width_of(current_device); }
std::size_t stack_limit() { return stack_bytes; }

std::size_t shared_limit_of(const void* function) {
  const std::lock_guard<std::mutex> lock(limits_mutex);
  const auto found = dynamic_limits().find(function);
  return found == dynamic_limits().end() ? kSharedDefault : std::max(kSharedDefault, std::size_t(found->second));
}

cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (function == nullptr) return fail(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || std::size_t(value) > kSharedOptIn)
    return fail(cudaErrorInvalidValue);
  const std::lock_guard<std::mutex> lock(limits_mutex);
  dynamic_limits()[function] = value;
  return cudaSuccess;
}

cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return fail(cudaErrorInvalidValue);
  *attributes = {};
  attributes->maxThreadsPerBlock = int(kMaxThreads);
  attributes->maxDynamicSharedSizeBytes = int(shared_limit_of(function));
  return cudaSuccess;
}

cudaError_t resident_blocks(int* blocks, const void* function, int threads, std::size_t shared) {
  if (blocks == nullptr || threads < 1 || threads > int(kMaxThreads)) return fail(cudaErrorInvalidValue);
  *blocks = std::min(kBlocksPerProcessor, kThreadsPerProcessor / threads);
  if (shared > 0) *blocks = std::min(*blocks, int((kSharedOptIn + 1024) / (shared + 1024)));
  if (shared > shared_limit_of(function)) *blocks = 0;
  return cudaSuccess;
}

cudaError_t refuse_untyped_kernel() {
  return cudaError_t(set_error(cudaErrorInvalidDeviceFunction,
                               "the kernel was passed as void*; pass the function itself, whose type says what the "
                               "argument pointers point to"));
}

}  // namespace gpuport::simt

using namespace gpuport::simt;

struct CUstream_st {
  int device;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
  bool timed = true;
};

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) { return *version = kVersion, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = kVersion, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = kDevices, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = current_device, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return fail(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaError_t(unread_failure()); }
cudaError_t cudaDeviceReset() { return forget_failure(), cudaSuccess; }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= kDevices) return fail(cudaErrorInvalidDevice);
  const auto answer = [&](long long known) { return *value = int(std::min<long long>(known, INT_MAX)), cudaSuccess; };
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return answer(kMaxThreads);
    case cudaDevAttrMaxBlockDimX:
      return answer(1024);
    case cudaDevAttrMaxBlockDimY:
      return answer(1024);
    case cudaDevAttrMaxBlockDimZ:
      return answer(64);
    case cudaDevAttrMaxGridDimX:
      return answer(INT_MAX);
    case cudaDevAttrMaxGridDimY:
      return answer(65535);
    case cudaDevAttrMaxGridDimZ:
      return answer(65535);
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return answer(kSharedDefault);
    case cudaDevAttrTotalConstantMemory:
      return answer(65536);
    case cudaDevAttrWarpSize:
      return answer(width_of(device));
    case cudaDevAttrMaxRegistersPerBlock:
      return answer(65536);
    case cudaDevAttrClockRate:
      return answer(1000000);
    case cudaDevAttrMultiProcessorCount:
      return answer(worker_count());
    case cudaDevAttrIntegrated:
      return answer(1);
    case cudaDevAttrCanMapHostMemory:
      return answer(1);
    case cudaDevAttrConcurrentKernels:
      return answer(0);
    case cudaDevAttrEccEnabled:
      return answer(0);
    case cudaDevAttrMemoryClockRate:
      return answer(0);
    case cudaDevAttrGlobalMemoryBusWidth:
      return answer(0);
    case cudaDevAttrL2CacheSize:
      return answer(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)));
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return answer(kThreadsPerProcessor);
    case cudaDevAttrUnifiedAddressing:
      return answer(1);
    case cudaDevAttrComputeCapabilityMajor:
      return answer(0);
    case cudaDevAttrComputeCapabilityMinor:
      return answer(0);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return answer(kSharedOptIn + 1024);
    case cudaDevAttrManagedMemory:
      return answer(1);
    case cudaDevAttrPageableMemoryAccess:
      return answer(1);
    case cudaDevAttrConcurrentManagedAccess:
      return answer(1);
    case cudaDevAttrCooperativeLaunch:
      return answer(1);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return answer(kSharedOptIn);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return answer(kBlocksPerProcessor);
    case cudaDevAttrMemoryPoolsSupported:
      return answer(1);
    case cudaDevAttrMaxPitch:
      return answer(INT_MAX);
    case cudaDevAttrTextureAlignment:
      return answer(512);
    case cudaDevAttrTexturePitchAlignment:
      return answer(32);
    case cudaDevAttrSurfaceAlignment:
      return answer(512);
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return answer(65536);
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrHostRegisterSupported:
      return answer(1);
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      return answer(2);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return answer(1024);
    default:  // what this machine has not, or has none of
      return attribute > 0 && attribute <= kLastAttribute ? answer(0) : fail(cudaErrorInvalidValue);
  }
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return fail(cudaErrorInvalidValue);
  if (device < 0 || device >= kDevices) return fail(cudaErrorInvalidDevice);
  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    cudaDeviceGetAttribute(&value, which, device);
    return value;
  };
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "gpuport SIMT machine, warps of %u lanes", width_of(device));
  cudaMemGetInfo(nullptr, &properties->totalGlobalMem);
  properties->sharedMemPerBlock = kSharedDefault;
  properties->sharedMemPerBlockOptin = kSharedOptIn;
  properties->sharedMemPerMultiprocessor = kSharedOptIn + 1024;
  properties->totalConstMem = 65536;
  properties->regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
  properties->warpSize = int(width_of(device));
  properties->maxThreadsPerBlock = int(kMaxThreads);
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = INT_MAX;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
  properties->l2CacheSize = attribute(cudaDevAttrL2CacheSize);
  properties->maxThreadsPerMultiProcessor = kThreadsPerProcessor;
  properties->maxBlocksPerMultiProcessor = kBlocksPerProcessor;
  properties->memPitch = std::size_t(attribute(cudaDevAttrMaxPitch));
  properties->clockRate = attribute(cudaDevAttrClockRate);
  properties->textureAlignment = std::size_t(attribute(cudaDevAttrTextureAlignment));
  properties->texturePitchAlignment = std::size_t(attribute(cudaDevAttrTexturePitchAlignment));
  properties->surfaceAlignment = std::size_t(attribute(cudaDevAttrSurfaceAlignment));
  properties->regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  properties->singleToDoublePrecisionPerfRatio = attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio);
  properties->reservedSharedMemPerBlock = std::size_t(attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  properties->hostNativeAtomicSupported = properties->canUseHostPointerForRegisteredMem = 1;
  properties->pageableMemoryAccessUsesHostPageTables = properties->directManagedMemAccessFromHost = 1;
  properties->hostRegisterSupported = 1;
  properties->integrated = properties->canMapHostMemory = properties->unifiedAddressing = 1;
  properties->managedMemory = properties->cooperativeLaunch = properties->pageableMemoryAccess = 1;
  properties->concurrentManagedAccess = properties->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  if (limit != cudaLimitStackSize) return fail(cudaErrorInvalidValue);
  return *value = stack_bytes, cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  constexpr std::size_t kLeast = std::size_t(16) << 10, kMost = std::size_t(1) << 20, kStep = 4096;
  if (limit != cudaLimitStackSize) return cudaSuccess;  // the host's printf and malloc have no such limits
  if (value > kMost) return fail(cudaErrorInvalidValue);
  stack_bytes = (std::max(value, kLeast) + kStep - 1) / kStep * kStep;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 1, cudaSuccess; }
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  if (stream == nullptr) return fail(cudaErrorInvalidValue);
  *stream = new CUstream_st{current_device};
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return fail(cudaErrorInvalidResourceHandle);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaError_t(unread_failure()); }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaError_t(unread_failure()); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (event == nullptr) return fail(cudaErrorInvalidValue);
  *event = new CUevent_st;
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return fail(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (event == nullptr) return fail(cudaErrorInvalidResourceHandle);
  event->time = std::chrono::steady_clock::now();
  event->recorded = true;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return event == nullptr ? fail(cudaErrorInvalidResourceHandle) : cudaError_t(unread_failure());
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  if (milliseconds == nullptr || start == nullptr || stop == nullptr || !start->recorded || !stop->recorded ||
      !start->timed || !stop->timed)
    return fail(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(stop->time - start->time).count();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned) { return cudaEventSynchronize(event); }
}
