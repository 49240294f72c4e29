#include "devices.hpp"

#include <gpuport/error.hpp>

namespace gp {

namespace {

template <int... kWidths>
std::vector<int> list_widths(WarpWidths<kWidths...>) {
  return {kWidths...};
}

// The runtimes name these members differently; which one this is shows in the struct. HIP on an NVIDIA GPU has the
// member and nothing in it.
template <typename Properties>
std::string architecture_of(const Properties& properties) {
  if constexpr (requires { properties.gcnArchName; }) {
    const std::string name = properties.gcnArchName;  // gfx90a:sramecc+:xnack-
    if (!name.empty()) return name.substr(0, name.find(':'));
  }
  return "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
}

template <typename Attributes>
bool is_on_device(const Attributes& attributes) {
  const auto kind = [&] {
    if constexpr (requires { attributes.memoryType; }) {
      return attributes.memoryType;
    } else {
      return attributes.type;
    }
  }();
  return attributes.devicePointer != nullptr && kind != cudaMemoryTypeHost;  // managed memory counts
}

cudaError_t count_devices(int* count) {
  *count = 0;
  const cudaError_t status = cudaGetDeviceCount(count);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    *count = 0;
  }
  return status;
}

}  // namespace

int device_count() {
  int count = 0;
  count_devices(&count);
  return count;
}

std::string device_error() {
  int count = 0;
  const cudaError_t status = count_devices(&count);
  if (status == cudaSuccess) return count > 0 ? "" : "the runtime found no device";
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

DeviceInfo device_info(int index) {
  if (index < 0 || index >= device_count()) {
    throw Error(ErrorKind::kValue,
                "no device " + std::to_string(index) + "; there are " + std::to_string(device_count()));
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "reading the device's properties");
  return {properties.name, architecture_of(properties), properties.warpSize, properties.multiProcessorCount,
          properties.totalGlobalMem};
}

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "reading the current device");
  return device;
}

int device_of_pointer(const void* address) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    (void)cudaGetLastError();  // an address that the runtime never saw is host memory
    return -1;
  }
  return is_on_device(attributes) ? attributes.device : -1;
}

void synchronize(int device, cudaStream_t stream) {
  const DeviceScope scope(device);
  check(cudaStreamSynchronize(stream), "waiting for the stream");
}

bool stream_busy(int device, cudaStream_t stream) {
  const DeviceScope scope(device);
  const cudaError_t status = cudaStreamQuery(stream);
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return true;
  }
  check(status, "asking whether the stream is idle");
  return false;
}

bool stream_is_capturing(int device, cudaStream_t stream) {
  const DeviceScope scope(device);
  return is_capturing(stream);
}

std::vector<int> target_warp_widths() { return list_widths(TargetWarpWidths{}); }

inline namespace GPUPORT_MODULE_NAME {

Buffer::Buffer(std::size_t bytes, int device, std::optional<cudaStream_t> stream)
    : bytes_(bytes), device_(device), stream_(stream) {
  const DeviceScope scope(device);
  const std::size_t size = bytes == 0 ? 1 : bytes;
  check(stream ? cudaMallocAsync(&data_, size, *stream) : cudaMalloc(&data_, size), "allocating device memory");
}

Buffer::~Buffer() {
  try {
    const DeviceScope scope(device_);  // a default stream is the current device's
    (void)(stream_ ? cudaFreeAsync(data_, *stream_) : cudaFree(data_));
  } catch (const Error&) {
    // The driver is shutting down, and the memory with it.
  }
}

}  // namespace GPUPORT_MODULE_NAME

}  // namespace gp
