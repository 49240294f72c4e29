#include "registry.hpp"

#include <gpuport/error.hpp>
#include <gpuport/runtime.hpp>

#include <string>

namespace gp {

#define GP_ENTRY(family, variant, ...) \
  namespace family {                   \
  void variant(const Call&);           \
  }
#include "registry.def"
#undef GP_ENTRY

namespace {

constexpr KernelEntry kEntries[] = {
#define GP_ENTRY(family, variant, operations, dtypes, repeatable, limits, doc) \
  {#family "." #variant, operations, dtypes, repeatable, limits, doc, &family::variant},
#include "registry.def"
#undef GP_ENTRY
};

std::string names_of(const KernelEntry& entry) {
  std::string names;
  for (int d = 0; d < kDTypes; ++d) {
    if (entry.takes(DType(d))) names += (names.empty() ? "" : ", ") + std::string(dtype_name(DType(d)));
  }
  return names;
}

}  // namespace

bool KernelEntry::computes(std::string_view op) const {
  for (std::string_view rest = operations; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    if (rest.substr(0, end) == op) return true;
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return false;
}

std::span<const KernelEntry> kernel_entries() { return kEntries; }

BoundCall::BoundCall(std::string_view name, std::string_view op, const Call& call) : call_(call) {
  for (const KernelEntry& candidate : kEntries) {
    if (name == candidate.name) entry_ = &candidate;
  }
  if (entry_ == nullptr) throw Error(ErrorKind::kValue, "unknown kernel " + std::string(name));
  if (!entry_->computes(op)) {
    throw Error(ErrorKind::kValue, std::string(name) + " computes " + entry_->operations + ", not " + std::string(op));
  }
  if (!entry_->takes(call_.in.dtype)) {
    throw Error(ErrorKind::kValue,
                std::string(name) + " takes " + names_of(*entry_) + ", not " + dtype_name(call_.in.dtype));
  }
  if (call_.rows < 0 || call_.cols < 0) throw Error(ErrorKind::kValue, "a negative number of rows or columns");
  call_.name = entry_->name;
  call_.op = OpCode(op_hash(std::string(op).c_str()));
  call_.warp_size = device_attribute(cudaDevAttrWarpSize, call_.device);
}

void BoundCall::run(void* input, void* output, cudaStream_t stream) const {
  Call call = call_;
  call.in.data = static_cast<char*>(input) + reinterpret_cast<std::intptr_t>(call_.in.data);
  call.out.data = static_cast<char*>(output) + reinterpret_cast<std::intptr_t>(call_.out.data);
  call.stream = stream;
  run(call);
}

void BoundCall::run(const Call& call) const {
  if (call.rows == 0) return;
  const DeviceScope scope(call.device);
  entry_->run(call);
}

}  // namespace gp
