// What the test kernels' host functions share: copies to and from the device, the device's width, errors as text.
#pragma once

#include <gpuport/gpuport.cuh>

#include <string>

#define LAYER_API extern "C" __attribute__((visibility("default")))

using namespace gp;

inline std::string last_error;

// Device copies of a host array, copied back on request.
template <typename T>
class Copy {
 public:
  Copy(const T* host, std::size_t count, cudaStream_t stream) : bytes_(count * sizeof(T)), stream_(stream) {
    check(cudaMalloc(&data_, bytes_ + 1), "allocating");
    if (host != nullptr) check(cudaMemcpyAsync(data_, host, bytes_, cudaMemcpyHostToDevice, stream), "uploading");
  }
  ~Copy() { (void)cudaFree(data_); }
  T* data() const { return static_cast<T*>(data_); }
  void read(T* host) const {
    check(cudaMemcpyAsync(host, data_, bytes_, cudaMemcpyDeviceToHost, stream_), "downloading");
    check(cudaStreamSynchronize(stream_), "running");
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
  cudaStream_t stream_;
};

inline Call call_on(int device) {
  Call call;
  call.name = "layer";
  call.device = device;
  check(cudaSetDevice(device), "choosing the device");
  call.warp_size = device_attribute(cudaDevAttrWarpSize, device);
  return call;
}

template <typename F>
void for_width(const Call& call, F&& f) {
  gp::detail::visit_width(call, TargetWarpWidths{}, f);
}

template <typename F>
int guarded(F&& f) {
  try {
    f();
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

// Weak: a library has one of each, however many sources it is made of.
LAYER_API __attribute__((weak)) const char* layer_last_error() { return last_error.c_str(); }
LAYER_API __attribute__((weak)) int layer_warp_size(int device) {
  return device_attribute(cudaDevAttrWarpSize, device);
}
