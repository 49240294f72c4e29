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
#define GP_ENTRY(family, variant, dtypes, deterministic, limits, doc) \
  {#family "." #variant, #family, dtypes, deterministic, limits, doc, &family::variant},
#include "registry.def"
#undef GP_ENTRY
};

struct OpRow {
  OpCode op;
  const char* name;
  const char* family;
};
constexpr OpRow kOpTable[] = {
    {OpCode::kSum, "sum", "reduce"},
    {OpCode::kMax, "max", "reduce"},
    {OpCode::kMin, "min", "reduce"},
    {OpCode::kSoftmax, "softmax", "softmax"},
    {OpCode::kLogSoftmax, "log_softmax", "softmax"},
    {OpCode::kLogSumExp, "logsumexp", "softmax"},
    {OpCode::kArgMax, "argmax", "argmax"},
    {OpCode::kArgMin, "argmin", "argmax"},
    {OpCode::kInclusiveScan, "inclusive_scan", "scan"},
    {OpCode::kExclusiveScan, "exclusive_scan", "scan"},
    {OpCode::kCount, "count", "compact"},
    {OpCode::kCompact, "compact", "compact"},
    {OpCode::kNonzero, "nonzero", "compact"},
};

std::string names_of(const KernelEntry& entry) {
  std::string names;
  for (int d = 0; d < kDTypes; ++d) {
    if (entry.takes(DType(d))) names += (names.empty() ? "" : ", ") + std::string(dtype_name(DType(d)));
  }
  return names;
}

}  // namespace

OpCode op_from_name(std::string_view name) {
  for (const OpRow& row : kOpTable) {
    if (name == row.name) return row.op;
  }
  throw Error(ErrorKind::kValue, "unknown operation " + std::string(name));
}

std::span<const KernelEntry> kernel_entries() { return kEntries; }

void run_kernel(std::string_view name, Call call) {
  const KernelEntry* entry = nullptr;
  for (const KernelEntry& candidate : kEntries) {
    if (name == candidate.name) entry = &candidate;
  }
  if (entry == nullptr) throw Error(ErrorKind::kValue, "unknown kernel " + std::string(name));
  const OpRow& op = kOpTable[std::size_t(call.op)];
  // Segments are reduced by the operators of `reduce`.
  const std::string_view family = entry->family == std::string_view("segmented") ? "reduce" : entry->family;
  if (op.family != family) {
    throw Error(ErrorKind::kValue, std::string(name) + " does not compute " + op.name);
  }
  if (!entry->takes(call.in.dtype)) {
    throw Error(ErrorKind::kValue,
                std::string(name) + " takes " + names_of(*entry) + ", not " + dtype_name(call.in.dtype));
  }
  if (call.rows < 0 || call.cols < 0) throw Error(ErrorKind::kValue, "a negative number of rows or columns");
  call.name = entry->name;
  const DeviceScope scope(call.device);
  call.warp_size = device_attribute(cudaDevAttrWarpSize, call.device);
  if (call.rows > 0) entry->run(call);
}

}  // namespace gp
