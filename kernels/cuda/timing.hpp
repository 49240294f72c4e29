// Timing of prepared calls: between two events there is no argument to read and, for native calls, no Python.
#pragma once

#include <gpuport/runtime.hpp>

#include <functional>
#include <string>
#include <vector>

namespace gp {

// A copy of device memory: by the runtime, or by a kernel that moves 16 bytes a thread. The faster one is the ceiling
// that rates are measured against.
class PreparedCopy {
 public:
  PreparedCopy(void* dst, const void* src, std::size_t bytes, bool by_kernel, int device, cudaStream_t stream);
  void enqueue();

 private:
  void* dst_;
  const void* src_;
  std::size_t bytes_;
  bool by_kernel_;
  int device_;
  cudaStream_t stream_;
};

class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t handle() const { return handle_; }

 private:
  int device_;
  cudaStream_t handle_ = nullptr;
};

struct Plan {
  int warmups, samples;
  bool graph;  // replay a captured graph; otherwise enqueue each call anew
  int device;
  cudaStream_t stream;
};

// Microseconds of one call, a number for each sample. The calls take turns, each on buffers of its own. Without a graph
// a sample is one call between two events, and the host waits for it before the next. With one it is the replay of all
// of the calls, divided by how many they are.
std::vector<double> time_calls(const std::vector<std::function<void()>>& calls, const Plan& plan);

struct DeviceFacts {
  std::size_t l2_bytes, free_bytes;
  int clock_khz, memory_clock_khz, driver_version, runtime_version;
};
DeviceFacts device_facts(int device);

}  // namespace gp
