// The operators of the family: running sums, in the accumulator that the result asks for.
#pragma once

#include <gpuport/gpuport.cuh>

namespace gp::scan {

using TeachingOps = TypeList<Sum<std::int32_t, std::int64_t>, Sum<float, float>, Sum<double, double>>;

// Every type to its default result; sums that wrap have the same bits signed and unsigned.
using EveryOp =
    TypeList<Sum<boolean, std::int64_t>, Sum<std::int8_t, std::int64_t>, Sum<std::int16_t, std::int64_t>,
             Sum<std::int32_t, std::int64_t>, Sum<std::int64_t, std::int64_t>, Sum<std::uint8_t, std::int64_t>,
             Sum<std::uint16_t, std::int64_t>, Sum<std::uint32_t, std::int64_t>, Sum<float16, float, float16>,
             Sum<bfloat16, float, bfloat16>, Sum<float, float>, Sum<double, double>>;

// The operator is a sum; whether the element itself belongs to its result is for the kernel.
inline Call as_sum(Call call) {
  call.op = OpCode::kSum;
  return canonical(call);
}

inline bool is_inclusive(const Call& call) { return call.op == OpCode::kInclusiveScan; }

}  // namespace gp::scan
