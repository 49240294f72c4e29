// The operators of the family: running sums, in the accumulator that the result asks for.
#pragma once

#include <gpuport/gpuport.cuh>

namespace gp::scan {

using TeachingOps = TypeList<Sum<std::int32_t, std::int64_t>, Sum<float, float>, Sum<double, double>>;

// Every type to its default result, of a canonical call.
using EveryOp =
    TypeList<KeyedSum<std::int8_t>, KeyedSum<std::int16_t>, KeyedSum<std::int32_t>, KeyedSum<std::int64_t>,
             Sum<float16, float, float16>, Sum<bfloat16, float, bfloat16>, Sum<float, float>, Sum<double, double>>;

// The operator is a sum; whether the element itself belongs to its result is for the kernel. Sums that wrap have the
// same bits signed and unsigned.
inline Call as_sum(Call call) {
  call.op = OpCode::kSum;
  if (call.in.dtype == DType::kU64) call.in.dtype = DType::kI64;
  if (call.out.dtype == DType::kU64) call.out.dtype = DType::kI64;
  return call;
}

inline bool is_inclusive(const Call& call) { return call.op == OpCode::kInclusiveScan; }

}  // namespace gp::scan
