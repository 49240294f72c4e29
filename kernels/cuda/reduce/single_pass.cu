// reduce.single_pass: one launch whatever the shape. The default; see gpuport/fold_rows.cuh.
// Reads each element once; bitwise repeatable.
#include <gpuport/fold_rows.cuh>

#include "operators.hpp"

namespace gp::reduce {

void single_pass(const Call& original) {
  const Call call = canonical(original);
  visit(call, EveryOp{}, [&]<int kWarp, typename Op>() { fold_rows<kWarp, Op>(call); });
}

}  // namespace gp::reduce
