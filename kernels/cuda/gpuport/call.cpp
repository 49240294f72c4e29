#include "dispatch.hpp"

#include <array>
#include <cstring>
#include <string>

namespace gp {

namespace {

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

}  // namespace

const char* dtype_name(DType dtype) { return kDTypeTable[std::size_t(dtype)].name; }
std::size_t dtype_size(DType dtype) { return kDTypeTable[std::size_t(dtype)].size; }

DType dtype_from_name(const char* name) {
  for (const DTypeRow& row : kDTypeTable) {
    if (std::strcmp(name, row.name) == 0) return row.dtype;
  }
  fail(ErrorKind::kType, "no kernel takes dtype ", name);
}

namespace detail {

void refuse_dtypes(const Call& call) {
  fail(ErrorKind::kValue, call.name, " does not take ", dtype_name(call.in.dtype), " to ", dtype_name(call.out.dtype),
       "; gpuport.kernels() lists what it takes");
}

void refuse_warp_size(const Call& call, const int* widths, int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + std::to_string(widths[i]);
  fail(ErrorKind::kValue, call.name, ": the device has warps of ", call.warp_size,
       " lanes; this build carries code for ", list.c_str());
}

}  // namespace detail

}  // namespace gp
