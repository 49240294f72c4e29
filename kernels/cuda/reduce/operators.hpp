// The operators of the family, and which of them a variant is built for.
#pragma once

#include <gpuport/dispatch.hpp>
#include <gpuport/fold_rows.cuh>
#include <gpuport/ops.cuh>

namespace gp::reduce {

using TeachingOps = TypeList<KeyedSum<std::int32_t>, Sum<float, float>, Sum<double, double>, KeyedMax<std::int32_t>,
                             KeyedMax<float>, KeyedMax<double>>;

// Sums keep to the accumulator that the result asks for: 64-bit integers, f32 for the 16-bit floats, f64 on request.
// Integer sums in f64 get their elements converted first (python/gpuport/ops/_reduce.py).
using EveryOp =
    TypeList<KeyedSum<std::int8_t>, KeyedSum<std::int16_t>, KeyedSum<std::int32_t>, KeyedSum<std::int64_t>,
             Sum<float16, float, float16>, Sum<bfloat16, float, bfloat16>, Sum<float16, float>, Sum<bfloat16, float>,
             Sum<float, float>, Sum<double, double>, Sum<float16, double>, Sum<bfloat16, double>, Sum<float, double>,
             KeyedMax<std::int8_t>, KeyedMax<std::int16_t>, KeyedMax<std::int32_t>, KeyedMax<std::int64_t>,
             KeyedMax<float16>, KeyedMax<bfloat16>, KeyedMax<float>, KeyedMax<double>>;

}  // namespace gp::reduce
