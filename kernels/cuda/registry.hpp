// The kernels by name, from registry.def.
#pragma once

#include <gpuport/call.hpp>

#include <span>
#include <string_view>

namespace gp {

enum DTypeSet : unsigned {
  kTeachingFloats = 1u << unsigned(DType::kF32) | 1u << unsigned(DType::kF64),
  kTeaching = kTeachingFloats | 1u << unsigned(DType::kI32),
  kFloats = kTeachingFloats | 1u << unsigned(DType::kF16) | 1u << unsigned(DType::kBF16),
  kWide = kTeaching | 1u << unsigned(DType::kU32) | 1u << unsigned(DType::kI64) | 1u << unsigned(DType::kU64),
  kEvery = (1u << kDTypes) - 1,
  kExact = kEvery & ~kFloats,  // bool and the integers
};

// What the variants of a family have in common: the operations that they compute, by the names that Python uses.
inline constexpr const char* kReductions = "sum max min";
inline constexpr const char* kScans = "inclusive_scan exclusive_scan";
inline constexpr const char* kArgExtrema = "argmax argmin";
inline constexpr const char* kCompactions = "count compact nonzero";
inline constexpr const char* kSoftmaxes = "softmax log_softmax logsumexp";

struct KernelEntry {
  const char* name;
  const char* operations;  // names with a space between
  DTypeSet dtypes;
  DTypeSet repeatable;  // for these the same input gives the same bits, whatever the timing
  const char* limits;
  const char* doc;
  void (*run)(const Call&);

  bool computes(std::string_view op) const;
  bool takes(DType dtype) const { return (dtypes >> unsigned(dtype) & 1u) != 0; }
  bool repeats(DType dtype) const { return (repeatable >> unsigned(dtype) & 1u) != 0; }
};

std::span<const KernelEntry> kernel_entries();

// A call with its kernel found and checked; Error(kValue) for an unknown name, and for an operation or a dtype that the
// variant does not take. run() enqueues it on the call's device and restores the caller's.
class BoundCall {
 public:
  BoundCall(std::string_view name, std::string_view op, const Call& call);
  void run() const { run(call_); }
  // The same on other memory: the addresses of the call's operands are offsets into it.
  void run(void* input, void* output, cudaStream_t stream) const;
  int device() const { return call_.device; }

 private:
  const KernelEntry* entry_ = nullptr;
  Call call_;

  void run(const Call& call) const;
};

}  // namespace gp
