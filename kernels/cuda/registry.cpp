#include "registry.hpp"

#include <gpuport/runtime.hpp>

#include <array>

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

struct DTypeRow {
  DType dtype;
  const char* name;
  std::size_t size;
};
constexpr std::array<DTypeRow, kDTypes> kDTypeTable = {{
    {DType::kBool, "bool", 1},
    {DType::kI8, "int8", 1},
    {DType::kI16, "int16", 2},
    {DType::kI32, "int32", 4},
    {DType::kI64, "int64", 8},
    {DType::kU8, "uint8", 1},
    {DType::kU16, "uint16", 2},
    {DType::kU32, "uint32", 4},
    {DType::kU64, "uint64", 8},
    {DType::kF16, "float16", 2},
    {DType::kBF16, "bfloat16", 2},
    {DType::kF32, "float32", 4},
    {DType::kF64, "float64", 8},
}};

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
};

std::string names_of(const KernelEntry& entry) {
  std::string names;
  for (const DTypeRow& row : kDTypeTable) {
    if (entry.takes(row.dtype)) names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

}  // namespace

const char* dtype_name(DType dtype) { return kDTypeTable[std::size_t(dtype)].name; }
std::size_t dtype_size(DType dtype) { return kDTypeTable[std::size_t(dtype)].size; }

DType dtype_from_name(const std::string& name) {
  for (const DTypeRow& row : kDTypeTable) {
    if (name == row.name) return row.dtype;
  }
  throw Error(ErrorKind::kType, "no kernel takes dtype " + name);
}

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
  if (std::string_view(op.family) != entry->family) {
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
