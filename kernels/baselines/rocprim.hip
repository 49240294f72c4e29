// rocPRIM behind the interface of baseline.hpp.
#include <hip/hip_runtime.h>
#include <rocprim/rocprim.hpp>
#include <rocprim/rocprim_version.hpp>

#include <limits>

#include "two_step.hpp"

namespace baselines {

namespace {

struct Hip {
  static void check(hipError_t status) {
    if (status == hipSuccess) return;
    (void)hipGetLastError();
    throw std::runtime_error(std::string("rocPRIM: ") + hipGetErrorString(status));
  }
  static void* allocate(std::size_t bytes) {
    void* memory = nullptr;
    check(hipMalloc(&memory, bytes));
    return memory;
  }
  static void release(void* memory) { check(hipFree(memory)); }
};

template <typename Call>
std::unique_ptr<Job> job(Call call) {
  return two_step_job<Hip>(std::move(call));
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
auto summands(const std::int32_t* x) { return rocprim::make_transform_iterator(x, Widen{}); }
const float* summands(const float* x) { return x; }
template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;

template <typename T>
std::unique_ptr<Job> prepare_sums(const Request& r) {
  using S = Sum<T>;
  const auto x = summands(static_cast<const T*>(r.x));
  const auto out = static_cast<S*>(r.out);
  const auto n = std::size_t(r.count);
  const auto stream = static_cast<hipStream_t>(r.stream);
  if (r.op == "sum") {
    return job([=](void* t, std::size_t& bytes) {
      return rocprim::reduce(t, bytes, x, out, S(0), n, rocprim::plus<S>(), stream);
    });
  }
  if (r.op == "inclusive_scan") {
    return job([=](void* t, std::size_t& bytes) {
      return rocprim::inclusive_scan(t, bytes, x, out, n, rocprim::plus<S>(), stream);
    });
  }
  if (r.op == "exclusive_scan") {
    return job([=](void* t, std::size_t& bytes) {
      return rocprim::exclusive_scan(t, bytes, x, out, S(0), n, rocprim::plus<S>(), stream);
    });
  }
  const auto begin = static_cast<const std::int64_t*>(r.offsets);
  const auto segments = unsigned(r.segments);
  return job([=](void* t, std::size_t& bytes) {
    return rocprim::segmented_reduce(t, bytes, x, out, segments, begin, begin + 1, rocprim::plus<S>(), S(0), stream);
  });
}

template <typename T>
std::unique_ptr<Job> prepare_select(const Request& r) {
  const auto x = static_cast<const T*>(r.x);
  const auto out = static_cast<T*>(r.out);
  const auto kept = static_cast<std::int64_t*>(r.extra);
  const auto n = std::size_t(r.count);
  const auto stream = static_cast<hipStream_t>(r.stream);
  if (r.op == "compact_nonzero") {
    return job(
        [=](void* t, std::size_t& bytes) { return rocprim::select(t, bytes, x, out, kept, n, IsNotZero{}, stream); });
  }
  const auto flags = static_cast<const std::uint8_t*>(r.keep);
  return job([=](void* t, std::size_t& bytes) { return rocprim::select(t, bytes, x, flags, out, kept, n, stream); });
}

template <typename T>
std::unique_ptr<Job> prepare_for(const Request& r) {
  if (r.op == "compact" || r.op == "compact_nonzero") return prepare_select<T>(r);
  if (r.op == "sum" || r.op == "inclusive_scan" || r.op == "exclusive_scan" || r.op == "segmented_sum") {
    return prepare_sums<T>(r);
  }
  throw Unsupported("rocPRIM has no " + r.op);
}

}  // namespace

std::unique_ptr<Job> prepare(const Request& r) {
  if (r.segments > std::numeric_limits<int>::max()) throw Unsupported("rocPRIM takes fewer than 2^31 segments");
  if (r.dtype == "int32") return prepare_for<std::int32_t>(r);
  if (r.dtype == "float32") return prepare_for<float>(r);
  throw Unsupported("the baseline of rocPRIM is compiled for int32 and float32, not " + r.dtype);
}

std::string library_version() {
  return std::to_string(ROCPRIM_VERSION / 100000) + "." + std::to_string(ROCPRIM_VERSION / 100 % 1000) + "." +
         std::to_string(ROCPRIM_VERSION % 100);
}

}  // namespace baselines
