// CUB behind the interface of baseline.hpp. Sizes are int, as CUB's users have them: its 64-bit offsets are slower.
#include <cub/cub.cuh>
#include <thrust/iterator/transform_iterator.h>

#include <cuda_runtime.h>

#include <limits>

#include "two_step.hpp"

namespace baselines {

namespace {

struct Cuda {
  static void check(cudaError_t status) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    throw std::runtime_error(std::string("CUB: ") + cudaGetErrorString(status));
  }
  static void* allocate(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes));
    return memory;
  }
  static void release(void* memory) { check(cudaFree(memory)); }
};

template <typename Call>
std::unique_ptr<Job> job(Call call) {
  return two_step_job<Cuda>(std::move(call));
}

struct Widen {
  __host__ __device__ std::int64_t operator()(std::int32_t value) const { return value; }
};
struct IsNotZero {
  template <typename T>
  __host__ __device__ bool operator()(const T& value) const {
    return value != T(0);
  }
};

// Integers are widened as they are read, so that the sums mean what gpuport's mean.
auto summands(const std::int32_t* x) { return thrust::make_transform_iterator(x, Widen{}); }
template <typename T>
const T* summands(const T* x) {
  return x;
}
template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;

template <typename T>
std::unique_ptr<Job> prepare_sums(const Request& r) {
  const auto x = summands(static_cast<const T*>(r.x));
  const auto out = static_cast<Sum<T>*>(r.out);
  const int n = int(r.count);
  const auto stream = static_cast<cudaStream_t>(r.stream);
  if (r.op == "sum") {
    return job([=](void* t, std::size_t& bytes) { return cub::DeviceReduce::Sum(t, bytes, x, out, n, stream); });
  }
  if (r.op == "inclusive_scan") {
    return job([=](void* t, std::size_t& bytes) { return cub::DeviceScan::InclusiveSum(t, bytes, x, out, n, stream); });
  }
  if (r.op == "exclusive_scan") {
    return job([=](void* t, std::size_t& bytes) { return cub::DeviceScan::ExclusiveSum(t, bytes, x, out, n, stream); });
  }
  const auto begin = static_cast<const std::int64_t*>(r.offsets);
  const int segments = int(r.segments);
  return job([=](void* t, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(t, bytes, x, out, segments, begin, begin + 1, stream);
  });
}

template <typename T>
std::unique_ptr<Job> prepare_select(const Request& r) {
  const auto x = static_cast<const T*>(r.x);
  const auto out = static_cast<T*>(r.out);
  const auto kept = static_cast<std::int64_t*>(r.extra);
  const int n = int(r.count);
  const auto stream = static_cast<cudaStream_t>(r.stream);
  if (r.op == "compact_nonzero") {
    return job([=](void* t, std::size_t& bytes) {
      return cub::DeviceSelect::If(t, bytes, x, out, kept, n, IsNotZero{}, stream);
    });
  }
  const auto flags = static_cast<const std::uint8_t*>(r.keep);
  return job([=](void* t, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(t, bytes, x, flags, out, kept, n, stream);
  });
}

template <typename T>
std::unique_ptr<Job> prepare_argmax(const Request& r) {
  const auto x = static_cast<const T*>(r.x);
  const auto index = static_cast<std::int64_t*>(r.out);
  const auto value = static_cast<T*>(r.extra);
  const auto n = std::int64_t(r.count);
  const auto stream = static_cast<cudaStream_t>(r.stream);
  return job(
      [=](void* t, std::size_t& bytes) { return cub::DeviceReduce::ArgMax(t, bytes, x, value, index, n, stream); });
}

template <typename T>
std::unique_ptr<Job> prepare_for(const Request& r) {
  if (r.op == "argmax") return prepare_argmax<T>(r);
  if (r.op == "compact" || r.op == "compact_nonzero") return prepare_select<T>(r);
  if (r.op == "sum" || r.op == "inclusive_scan" || r.op == "exclusive_scan" || r.op == "segmented_sum") {
    return prepare_sums<T>(r);
  }
  throw Unsupported("no baseline of CUB for " + r.op);
}

}  // namespace

std::unique_ptr<Job> prepare(const Request& r) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (r.count > kMost || r.segments > kMost) throw Unsupported("the baseline of CUB takes fewer than 2^31 elements");
  if (r.dtype == "int32") return prepare_for<std::int32_t>(r);
  if (r.dtype == "float32") return prepare_for<float>(r);
  throw Unsupported("the baseline of CUB is compiled for int32 and float32, not " + r.dtype);
}

std::string library_version() {
  return std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
         std::to_string(CUB_SUBMINOR_VERSION);
}

}  // namespace baselines
