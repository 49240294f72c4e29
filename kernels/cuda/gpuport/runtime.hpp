// Runtime calls: devices, streams, temporary storage. Host only; plain C++ can include it.
#pragma once

#include "call.hpp"

namespace gp {

// Throws an Error that says what failed; `doing` completes "while ...".
void check(cudaError_t status, const char* doing);

// Whether the status says that the module has no code for the device.
inline bool lacks_code(cudaError_t status) {
  return status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction;
}

struct Grid {
  index_t blocks;
  int threads;                   // a multiple of every warp width
  std::size_t shared_bytes = 0;  // dynamic
};
[[noreturn]] void fail_launch(cudaError_t status, const Call& call, const Grid& grid);
index_t resident_blocks(const void* kernel, const Call& call, int threads, std::size_t shared_bytes);  // see launch.cuh

// Whether the code that the device runs of a kernel with an Overlap waits for the kernels ahead of it, and the driver
// takes such launches, into graphs as well. GPUPORT_OVERLAP=0 in the environment of a process has kernels follow each
// other, to see what that takes.
bool overlaps(const void* kernel, int device);

int device_attribute(cudaDeviceAttr attribute, int device);
int most_shared_bytes(int device);  // that a block may have, static and dynamic
bool is_capturing(cudaStream_t stream);

// Makes a device current and restores the caller's on the way out.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int device_, previous_;
};

inline constexpr index_t kCounters = 4096;

// What a launch marks the words with that its blocks publish to each other. The host numbers launches; in a graph,
// which replays them with the same parameters, the upper half of the word at `replays` is the number of those before.
struct LaunchTag {
  std::uint32_t tag;
  std::uint64_t* replays;  // null where the host has numbered the launch
};

// Temporary storage for the launches of one call. Each stream of each device keeps one buffer, which grows and is
// reused; a lock keeps two host threads from interleaving their launches on it, and on a stream that is being captured.
// The calls that one graph captures from a stream share a buffer of the graph's own, or more of them where a later call
// needs a larger one. It goes back when the graph does: replays share nothing with eager calls, and need nothing
// cleared. So executables, clones and copies of one graph must not run at once: they could wait for each other for
// ever. Where the runtime cannot say when a graph is gone (AMD), each call allocates, clears and frees its storage by
// nodes of the graph.
struct WorkspaceBuffer;
class Workspace {
 public:
  // `tagged` words hold what blocks publish to each other with tag(); see lookback.cuh.
  Workspace(const Call& call, std::size_t bytes, std::size_t tagged = 0);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  template <typename T>
  T* data() const {
    return static_cast<T*>(data_);
  }
  // kCounters words that are zero when the launch starts; a kernel leaves them zero.
  std::uint32_t* counters() const { return counters_; }
  // Words whose upper half is not the tag when the launch starts. Kernels write them with the tag in the upper half
  // only, so what earlier launches left needs no clearing.
  std::uint64_t* tagged() const { return tagged_; }
  LaunchTag tag() const { return tag_; }

 private:
  cudaStream_t stream_;
  bool owned_ = false;
  WorkspaceBuffer* buffer_ = nullptr;  // locked; null under capture, which has a lock of its own
  std::uint32_t* counters_ = nullptr;
  std::uint64_t* tagged_ = nullptr;
  LaunchTag tag_ = {1, nullptr};
  void* data_ = nullptr;
};

// What the calls so far keep for a stream: the buffer that Workspace reuses.
std::size_t workspace_bytes(int device, cudaStream_t stream);

}  // namespace gp
