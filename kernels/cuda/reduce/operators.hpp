// The operators of the family, and which of them a variant is built for.
#pragma once

#include <gpuport/dispatch.hpp>
#include <gpuport/fold_rows.cuh>
#include <gpuport/ops.cuh>

namespace gp::reduce {

template <typename... Ts>
using Extrema = decltype(TypeList<Max<Ts>...>{} + TypeList<Min<Ts>...>{});

using TeachingOps = decltype(TypeList<Sum<std::int32_t, std::int64_t>, Sum<float, float>, Sum<double, double>>{} +
                             Extrema<std::int32_t, float, double>{});

// Sums keep to the accumulator that the result asks for: 64-bit integers, f32 for the 16-bit floats, f64 on request.
using IntegerSums =
    TypeList<Sum<boolean, std::int64_t>, Sum<std::int8_t, std::int64_t>, Sum<std::int16_t, std::int64_t>,
             Sum<std::int32_t, std::int64_t>, Sum<std::int64_t, std::int64_t>, Sum<std::uint8_t, std::int64_t>,
             Sum<std::uint16_t, std::int64_t>, Sum<std::uint32_t, std::int64_t>>;
using FloatSums = TypeList<Sum<float16, float, float16>, Sum<bfloat16, float, bfloat16>, Sum<float16, float>,
                           Sum<bfloat16, float>, Sum<float, float>, Sum<double, double>>;
template <typename... Ts>
using SumsInDouble = TypeList<Sum<Ts, double>...>;
using DoubleSums = SumsInDouble<boolean, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                std::uint16_t, std::uint32_t, std::uint64_t, float16, bfloat16, float>;

using EveryOp = decltype(IntegerSums{} + FloatSums{} + DoubleSums{} +
                         Extrema<boolean, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                 std::uint16_t, std::uint32_t, std::uint64_t, float16, bfloat16, float, double>{});

// Sums that wrap have the same bits signed and unsigned, and bool is stored as 0 or 1 in a byte: fewer kernels serve
// all.
inline Call canonical(Call call) {
  const auto is_signed_twin = [](DType dtype) { return dtype == DType::kU64 ? DType::kI64 : dtype; };
  if (call.op == OpCode::kSum && call.out.dtype == DType::kU64) {
    call.out.dtype = DType::kI64;
    call.in.dtype = is_signed_twin(call.in.dtype);
  }
  return call;
}

}  // namespace gp::reduce
