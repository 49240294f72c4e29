// Calls that come down to others: work is done when a call returns, and the two devices have one memory.
#pragma once

inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  function(data);
  return cudaSuccess;
}
using cudaStreamCallback_t = void (*)(cudaStream_t stream, cudaError_t status, void* data);
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  callback(stream, cudaStreamQuery(stream), data);
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) { return *priority = 0, cudaSuccess; }
inline cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned* flags) { return *flags = 0, cudaSuccess; }
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t = 0, unsigned = cudaMemAttachSingle) {
  return cudaSuccess;
}
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned = 0) {
  return cudaEventRecord(event, stream);
}

// Advice is heard and changes nothing.
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaGetDeviceFlags(unsigned* flags) { return *flags = cudaDeviceScheduleAuto, cudaSuccess; }
inline cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device);
}
inline cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return *config = cudaFuncCachePreferNone, cudaSuccess;
}
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return *config = cudaSharedMemBankSizeFourByte, cudaSuccess;
}
template <typename Function>
cudaError_t cudaFuncSetSharedMemConfig(Function*, cudaSharedMemConfig) {
  return cudaSuccess;
}
inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned, cudaStream_t = nullptr) {
  return cudaSuccess;
}
inline cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
inline cudaError_t cudaDeviceDisablePeerAccess(int) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int, int) {
  *value = attribute == cudaDevP2PAttrAccessSupported || attribute == cudaDevP2PAttrNativeAtomicSupported;
  return cudaSuccess;
}
inline cudaError_t cudaHostGetFlags(unsigned* flags, void*) { return *flags = cudaHostAllocDefault, cudaSuccess; }

// Linear memory of two and three dimensions.
inline cudaError_t cudaMemset2DAsync(void* memory, std::size_t pitch, int byte, std::size_t width, std::size_t height,
                                     cudaStream_t = nullptr) {
  return cudaMemset2D(memory, pitch, byte, width, height);
}
inline cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  *memory = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}
inline cudaError_t cudaMemset3D(cudaPitchedPtr memory, int byte, cudaExtent extent) {
  for (std::size_t z = 0; z < extent.depth; ++z) {
    char* const plane = static_cast<char*>(memory.ptr) + z * memory.ysize * memory.pitch;
    if (const cudaError_t error = cudaMemset2D(plane, memory.pitch, byte, extent.width, extent.height)) return error;
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int byte, cudaExtent extent, cudaStream_t = nullptr) {
  return cudaMemset3D(memory, byte, extent);
}

template <typename T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T&) {
  return *bytes = sizeof(T), cudaSuccess;
}
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes, std::size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes, std::size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

template <typename Function>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Function* function, int threads,
                                                                   std::size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
template <typename Function>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Function* function, std::size_t shared,
                                                        int limit, unsigned) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, function, shared, limit);
}
// The largest block whose shared memory leaves room for one.
template <typename SharedOf, typename Function>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, Function* function,
                                                           SharedOf shared_of, int limit = 0) {
  for (int threads = limit == 0 ? 1024 : limit; threads > 0; threads -= threads > 32 ? 32 : threads) {
    const cudaError_t error = cudaOccupancyMaxPotentialBlockSize(grid, block, function, shared_of(threads), threads);
    if (error != cudaSuccess || *grid > 0) return error;
  }
  return cudaSuccess;
}
