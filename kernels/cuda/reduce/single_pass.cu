// reduce.single_pass: one launch whatever the shape. The default; see gpuport/fold_rows.cuh.
// Reads each element once; bitwise repeatable.
#include <gpuport/fold_rows.cuh>

#include "operators.hpp"

namespace gp::reduce {

void single_pass(const Call& call) {
  visit(canonical(call), EveryOp{}, [&]<int kWarp, typename Op>() { fold_rows<kWarp, Op>(call, results<Op>(call)); });
}

}  // namespace gp::reduce
