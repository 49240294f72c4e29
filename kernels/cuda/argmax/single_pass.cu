// argmax.single_pass: the extremum of each row and the lowest index where it stands, in one launch; see
// gpuport/fold_rows.cuh. Reads each element once. Ties go to the lowest index, whichever thread saw which; the first
// NaN wins over everything, -0.0 equals 0.0. Exact, so the same on every run.
#include <gpuport/fold_rows.cuh>

namespace gp::argmax {

using EveryOp =
    TypeList<KeyedArgMax<std::int8_t>, KeyedArgMax<std::int16_t>, KeyedArgMax<std::int32_t>, KeyedArgMax<std::int64_t>,
             KeyedArgMax<float16>, KeyedArgMax<bfloat16>, KeyedArgMax<float>, KeyedArgMax<double>>;

void single_pass(const Call& call) {
  visit(canonical(call), EveryOp{}, [&]<int kWarp, typename Op>() { fold_rows<kWarp, Op>(call, results<Op>(call)); });
}

}  // namespace gp::argmax
