// What Python asks of a kernel: plain data, no templates, the same for every family.
#pragma once

#include <cstdint>

#include "fail.hpp"
#include "types.cuh"

namespace gp {

enum class DType : std::uint8_t { kBool, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF16, kBF16, kF32, kF64 };
inline constexpr int kDTypes = 13;

// An operation is a hash (FNV-1a) of the name that Python and registry.def have for it. So a kernel that computes one
// operation needs no entry here: a name is listed where some kernel tells it from another.
constexpr std::uint32_t op_hash(const char* name) {
  std::uint32_t hash = 2166136261u;
  for (; *name != 0; ++name) hash = (hash ^ std::uint8_t(*name)) * 16777619u;
  return hash;
}
enum class OpCode : std::uint32_t {
  kSum = op_hash("sum"),
  kMax = op_hash("max"),
  kMin = op_hash("min"),
  kSoftmax = op_hash("softmax"),
  kLogSoftmax = op_hash("log_softmax"),
  kLogSumExp = op_hash("logsumexp"),
  kArgMax = op_hash("argmax"),
  kArgMin = op_hash("argmin"),
  kInclusiveScan = op_hash("inclusive_scan"),
  kExclusiveScan = op_hash("exclusive_scan"),
  kCount = op_hash("count"),
  kCompact = op_hash("compact"),
  kNonzero = op_hash("nonzero"),
};

template <typename T>
inline constexpr DType kDTypeOf = DType(0xff);  // no array holds it
template <>
inline constexpr DType kDTypeOf<boolean> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::kI8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::kI16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::kI32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::kI64;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::kU8;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::kU16;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::kU32;
template <>
inline constexpr DType kDTypeOf<std::uint64_t> = DType::kU64;
template <>
inline constexpr DType kDTypeOf<float16> = DType::kF16;
template <>
inline constexpr DType kDTypeOf<bfloat16> = DType::kBF16;
template <>
inline constexpr DType kDTypeOf<float> = DType::kF32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kF64;

inline bool is_unsigned(DType dtype) { return dtype >= DType::kU8 && dtype <= DType::kU64; }
inline DType signed_twin(DType dtype) {
  return is_unsigned(dtype) ? DType(int(dtype) - int(DType::kU8) + int(DType::kI8)) : dtype;
}

const char* dtype_name(DType dtype);      // NumPy's name
DType dtype_from_name(const char* name);  // Error(kType) for another
std::size_t dtype_size(DType dtype);      // bytes

// One operand as a rows x cols matrix; strides in elements.
struct Operand {
  void* data = nullptr;
  DType dtype = DType::kF32;
  index_t row_stride = 0, col_stride = 0;

  // Whether `count` neighbouring rows are one aligned vector in each column.
  bool has_row_vectors(index_t rows, index_t cols, index_t count) const {
    return row_stride == 1 && rows % count == 0 && (cols == 1 || col_stride % count == 0) &&
           reinterpret_cast<std::uintptr_t>(data) % (std::size_t(count) * dtype_size(dtype)) == 0;
  }
};

inline constexpr int kMoreOperands = 4;

struct Call {
  const char* name = "";  // "family.variant", for errors
  OpCode op = OpCode::kSum;
  index_t rows = 0, cols = 0;
  Operand in, out;
  Operand more_in[kMoreOperands], more_out[kMoreOperands];  // of kernels that take or give several arrays
  Operand keep;                                             // the mask; its data is null where there is none
  Operand scratch;  // int64 positions that outlive the call: offsets of segments or of stretches
  int device = 0;
  int warp_size = 0;
  cudaStream_t stream = nullptr;

  template <typename T>
  View2<T> input() const {
    return {static_cast<T*>(in.data), rows, cols, in.row_stride, in.col_stride};
  }
  template <typename T>
  View2<T> output() const {
    return {static_cast<T*>(out.data), rows, cols, out.row_stride, out.col_stride};
  }
  // Whether neighbouring rows are nearer to each other than the elements of a row, and there are enough for the lanes
  // of a warp.
  bool stand_side_by_side() const {
    constexpr index_t kLeastRows = 16;
    const auto distance = [](index_t stride) { return stride < 0 ? -stride : stride; };
    return rows >= kLeastRows && cols > 1 && in.row_stride != 0 && distance(in.row_stride) < distance(in.col_stride);
  }
  View2<const std::uint8_t> mask() const {
    return {static_cast<const std::uint8_t*>(keep.data), rows, cols, keep.row_stride, keep.col_stride};
  }
};

}  // namespace gp
