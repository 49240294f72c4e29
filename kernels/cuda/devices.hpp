// Devices and their memory, as Python sees them.
#pragma once

#include <gpuport/runtime.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gp {

struct DeviceInfo {
  std::string name, architecture;
  int warp_size, multiprocessors;
  std::size_t memory;  // bytes
};

int device_count();          // 0 where the runtime finds none or does not start
std::string device_error();  // why there is none; empty otherwise
DeviceInfo device_info(int index);
int current_device();
int device_of_pointer(const void* address);  // -1 for host memory
void synchronize(int device, cudaStream_t stream);
bool stream_busy(int device, cudaStream_t stream);
bool stream_is_capturing(int device, cudaStream_t stream);
std::vector<int> target_warp_widths();  // of the code in this build

// Its own type in each backend's module: Python sees one class a module, though they share nanobind's internals.
inline namespace GPUPORT_MODULE_NAME {

// Device memory. Without a stream it may be used on all of them, and freeing it waits for the device; with one it is
// allocated and freed in that stream's order.
class Buffer {
 public:
  Buffer(std::size_t bytes, int device, std::optional<cudaStream_t> stream);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  int device() const { return device_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
  int device_;
  std::optional<cudaStream_t> stream_;
};

}  // namespace GPUPORT_MODULE_NAME

}  // namespace gp
