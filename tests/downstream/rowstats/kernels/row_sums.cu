// With the portable layer: one warp a row, compiled for either width.
#include <gpuport/error.hpp>
#include <gpuport/gpuport.cuh>

#include <string>

#include "rowstats.h"

namespace {

constexpr int kThreads = 128;

template <int kWarp>
GP_KERNEL row_sums_kernel(const float* x, gp::index_t rows, gp::index_t cols, float* sums, int* lanes) {
  using W = gp::Warp<kWarp>;
  using Op = gp::Sum<float, float>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  for (gp::index_t row = W::global_index(); row < rows; row += W::global_count()) {
    float sum = Op::identity();
    for (gp::index_t col = W::lane(); col < cols; col += kWarp) sum = Op::combine(sum, x[row * cols + col]);
    sum = W::template reduce<Op>(sum);
    if (W::lane() == 0) {
      sums[row] = sum;
      lanes[row] = kWarp;
    }
  }
}

}  // namespace

const char* row_sums(const float* x, long long rows, long long cols, float* sums, int* lanes, int device) {
  static thread_local std::string problem;
  try {
    const gp::DeviceScope scope(device);
    gp::Call call;
    call.name = "rowstats.row_sums";
    call.device = device;
    call.warp_size = gp::device_attribute(cudaDevAttrWarpSize, device);
    gp::visit_width(call, [&]<int kWarp>() {
      gp::launch(row_sums_kernel<kWarp>, call, gp::groups_for(rows, kWarp, kThreads), x, rows, cols, sums, lanes);
    });
  } catch (const gp::Error& error) {
    problem = error.what();
    return problem.c_str();
  }
  return nullptr;
}
