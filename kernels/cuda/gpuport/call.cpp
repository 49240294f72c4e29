#include "call.hpp"

#include <array>

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

DType dtype_from_name(const std::string& name) {
  for (const DTypeRow& row : kDTypeTable) {
    if (name == row.name) return row.dtype;
  }
  throw Error(ErrorKind::kType, "no kernel takes dtype " + name);
}

}  // namespace gp
