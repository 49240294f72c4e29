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
  kEvery = (1u << kDTypes) - 1,
};

struct KernelEntry {
  const char* name;
  const char* family;
  DTypeSet dtypes;
  bool deterministic;
  const char* limits;
  const char* doc;
  void (*run)(const Call&);

  bool takes(DType dtype) const { return (dtypes >> unsigned(dtype) & 1u) != 0; }
};

std::span<const KernelEntry> kernel_entries();

// Runs the kernel of that name on the call's device and restores the caller's; Error(kValue) for an unknown name, an
// operator of another family or a dtype that the variant does not take, before anything is launched.
void run_kernel(std::string_view name, Call call);

OpCode op_from_name(std::string_view name);

}  // namespace gp
