#include "registry.hpp"

#include <gpuport/runtime.hpp>

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

void run_kernel(std::string_view name, std::string_view op, Call call) {
  const KernelEntry* entry = nullptr;
  for (const KernelEntry& candidate : kEntries) {
    if (name == candidate.name) entry = &candidate;
  }
  if (entry == nullptr) throw Error(ErrorKind::kValue, "unknown kernel " + std::string(name));
  if (!entry->computes(op)) {
    throw Error(ErrorKind::kValue, std::string(name) + " computes " + entry->operations + ", not " + std::string(op));
  }
  if (!entry->takes(call.in.dtype)) {
    throw Error(ErrorKind::kValue,
                std::string(name) + " takes " + names_of(*entry) + ", not " + dtype_name(call.in.dtype));
  }
  if (call.rows < 0 || call.cols < 0) throw Error(ErrorKind::kValue, "a negative number of rows or columns");
  call.name = entry->name;
  call.op = OpCode(op_hash(op));
  const DeviceScope scope(call.device);
  call.warp_size = device_attribute(cudaDevAttrWarpSize, call.device);
  if (call.rows > 0) entry->run(call);
}

}  // namespace gp
