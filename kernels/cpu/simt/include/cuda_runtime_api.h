// The CUDA runtime's host functions, over two devices that share the host's memory: ordinal 0 has warps of 32 lanes,
// ordinal 1 of 64. Work is done when a call returns, so streams and events are in order by construction.
#pragma once

#include "gpuport_simt/symbols.h"
#include "gpuport_simt/types.h"
#include "gpuport_simt/errors.h"
#include "gpuport_simt/device_attributes.h"
#include "gpuport_simt/runtime_types.h"
#include "gpuport_simt/launch.h"

#define CUDART_VERSION 12000

#if defined(GPUPORT_SIMT_LIBRARY)
#pragma GCC visibility push(default)
#else
#pragma GCC visibility push(hidden)
#endif
extern "C" {
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);  // with what the thread's last failed launch had to say
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);

cudaError_t cudaFree(void* memory);
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* memory);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes);
cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes);

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
}

namespace gpuport::simt {
cudaError_t allocate(void** memory, std::size_t bytes, cudaMemoryType type);
cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t resident_blocks(int* blocks, const void* function, int threads, std::size_t shared);
cudaError_t copy_symbol(void* to, const void* from, std::size_t symbol_bytes, std::size_t bytes, std::size_t offset);
cudaError_t refuse_untyped_kernel();
cudaError_t not_supported(const char* call, const char* what);

template <typename... Parameters, std::size_t... kIndices>
cudaError_t launch_with_pointers(void (*function)(Parameters...), const Config& config, bool resident, void** arguments,
                                 std::index_sequence<kIndices...>) {
  return cudaError_t(
      launch_bound("(passed by address)", reinterpret_cast<const void*>(function), config, resident,
                   [=] { function(*static_cast<std::remove_cvref_t<Parameters>*>(arguments[kIndices])...); }));
}
}  // namespace gpuport::simt
#pragma GCC visibility pop

template <typename T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  return gpuport::simt::allocate(reinterpret_cast<void**>(memory), bytes, cudaMemoryTypeDevice);
}
template <typename T>
cudaError_t cudaMallocAsync(T** memory, std::size_t bytes, cudaStream_t) {
  return gpuport::simt::allocate(reinterpret_cast<void**>(memory), bytes, cudaMemoryTypeDevice);
}
template <typename T>
cudaError_t cudaMallocManaged(T** memory, std::size_t bytes, unsigned = cudaMemAttachGlobal) {
  return gpuport::simt::allocate(reinterpret_cast<void**>(memory), bytes, cudaMemoryTypeManaged);
}
template <typename T>
cudaError_t cudaMallocHost(T** memory, std::size_t bytes, unsigned = 0) {
  return gpuport::simt::allocate(reinterpret_cast<void**>(memory), bytes, cudaMemoryTypeHost);
}
template <typename T>
cudaError_t cudaHostAlloc(T** memory, std::size_t bytes, unsigned = 0) {
  return gpuport::simt::allocate(reinterpret_cast<void**>(memory), bytes, cudaMemoryTypeHost);
}
template <typename T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
  *reinterpret_cast<void**>(device) = host;
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                       cudaStream_t = nullptr) {
  return cudaMemcpyPeer(to, to_device, from, from_device, bytes);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t width, std::size_t height, cudaMemcpyKind kind,
                                     cudaStream_t = nullptr) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
inline cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(memory, byte, bytes);
}

template <typename T>
cudaError_t cudaMallocPitch(T** memory, std::size_t* pitch, std::size_t width, std::size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(memory, *pitch * height);
}
inline cudaError_t cudaMemset2D(void* memory, std::size_t pitch, int byte, std::size_t width, std::size_t height) {
  for (std::size_t row = 0; row < height; ++row)
    if (const cudaError_t error = cudaMemset(static_cast<char*>(memory) + row * pitch, byte, width)) return error;
  return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }

// A symbol is an ordinary global variable here, so it is its own address.
template <typename T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return gpuport::simt::copy_symbol(const_cast<char*>(reinterpret_cast<const volatile char*>(&symbol)) + offset, from,
                                    sizeof(T), bytes, offset);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return gpuport::simt::copy_symbol(to, const_cast<char*>(reinterpret_cast<const volatile char*>(&symbol)) + offset,
                                    sizeof(T), bytes, offset);
}
template <typename T>
cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = const_cast<char*>(reinterpret_cast<const volatile char*>(&symbol));
  return cudaSuccess;
}

template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*function)(Parameters...), cudaFuncAttribute attribute, int value) {
  return gpuport::simt::set_function_attribute(reinterpret_cast<const void*>(function), attribute, value);
}
inline cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return gpuport::simt::set_function_attribute(function, attribute, value);
}
template <typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*function)(Parameters...)) {
  return gpuport::simt::function_attributes(attributes, reinterpret_cast<const void*>(function));
}
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return gpuport::simt::function_attributes(attributes, function);
}
template <typename... Parameters>
cudaError_t cudaFuncSetCacheConfig(void (*)(Parameters...), cudaFuncCache) {
  return cudaSuccess;
}
template <typename... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*function)(Parameters...), int threads,
                                                          std::size_t shared) {
  return gpuport::simt::resident_blocks(blocks, reinterpret_cast<const void*>(function), threads, shared);
}
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                                 std::size_t shared) {
  return gpuport::simt::resident_blocks(blocks, function, threads, shared);
}

template <typename... Parameters>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, void (*function)(Parameters...),
                                               std::size_t shared = 0, int limit = 0) {
  *block = limit == 0 ? 1024 : limit;
  int blocks = 0, processors = 0;
  if (const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, *block, shared))
    return error;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  *grid = blocks * processors;
  return cudaSuccess;
}

// Argument pointers carry no types; the kernel's own type has to. A kernel cast to void* has lost it and is refused.
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*function)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared = 0, cudaStream_t stream = nullptr) {
  return gpuport::simt::launch_with_pointers(function, {grid, block, shared, stream}, false, arguments,
                                             std::index_sequence_for<Parameters...>{});
}
template <typename... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*function)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared = 0, cudaStream_t stream = nullptr) {
  return gpuport::simt::launch_with_pointers(function, {grid, block, shared, stream}, true, arguments,
                                             std::index_sequence_for<Parameters...>{});
}
inline cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t = 0, cudaStream_t = nullptr) {
  return gpuport::simt::refuse_untyped_kernel();
}
inline cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, std::size_t = 0,
                                               cudaStream_t = nullptr) {
  return gpuport::simt::refuse_untyped_kernel();
}

#include "gpuport_simt/more_runtime_calls.h"
#include "gpuport_simt/components.h"
#include "gpuport_simt/arrays.h"
#include "gpuport_simt/unsupported_calls.h"
