// argmax.single_pass: the extremum of each row and the lowest index where it stands, in one launch; see
// gpuport/fold_rows.cuh. Reads each element once. Ties go to the lowest index, whichever thread saw which; the first
// NaN wins over everything, -0.0 equals 0.0. Exact, so the same on every run.
#include <gpuport/fold_rows.cuh>

namespace gp::argmax {

template <typename... Ts>
using ArgExtrema = decltype(TypeList<ArgMax<Ts>...>{} + TypeList<ArgMin<Ts>...>{});
using EveryOp = ArgExtrema<boolean, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                           std::uint32_t, std::uint64_t, float16, bfloat16, float, double>;

void single_pass(const Call& call) {
  visit(call, EveryOp{}, [&]<int kWarp, typename Op>() { fold_rows<kWarp, Op>(call); });
}

}  // namespace gp::argmax
