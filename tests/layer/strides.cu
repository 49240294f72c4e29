// Kernels whose grids may have two blocks at most (GP_MAX_BLOCKS), for tests/layer/test_strides.py: what a grid does
// not cover at once its blocks stride over, as they do on a device past 2^31 blocks.
#include <reduce/hierarchical.cu>
#include <reduce/warp_shuffle.cu>
#include <scan/hierarchical.cu>
#include <scan/hillis_steele.cu>
#include <softmax/columns.cu>
#include <softmax/online_registers.cu>
#include <softmax/online_row_cache.cu>
#include <softmax/online_vec4.cu>
#include <softmax/three_pass.cu>

#include "harness.hpp"

static_assert(kMaxBlocks == 2);

namespace {

// reduce.single_pass takes every type; one operator of its is enough here.
void single_pass(const Call& call) {
  visit(call, TypeList<Sum<float, float>>{},
        [&]<int kWarp, typename Op>() { fold_rows<kWarp, Op>(call, results<Op>(call)); });
}

struct Named {
  const char* name;
  void (*run)(const Call&);
};
constexpr Named kKernels[] = {
    {"reduce.warp_shuffle", reduce::warp_shuffle},
    {"reduce.hierarchical", reduce::hierarchical},
    {"reduce.single_pass", single_pass},
    {"reduce.single_pass, side by side", single_pass},
    {"scan.hillis_steele", scan::hillis_steele},
    {"scan.hierarchical", scan::hierarchical},
    {"softmax.columns", softmax::columns},
    {"softmax.three_pass", softmax::three_pass},
    {"softmax.online_vec4", softmax::online_vec4},
    {"softmax.online_registers", softmax::online_registers},
    {"softmax.online_row_cache", softmax::online_row_cache},
};

}  // namespace

LAYER_API int layer_kernels() { return int(std::size(kKernels)); }
LAYER_API const char* layer_kernel(int index) { return kKernels[index].name; }

LAYER_API int layer_run(int device, int index, int rows, int cols, const float* in, float* out) {
  return guarded([&] {
    const Named& kernel = kKernels[index];
    const std::string name = kernel.name;
    const bool reduces = name.starts_with("reduce");
    const std::size_t count = std::size_t(rows) * std::size_t(cols), results = reduces ? std::size_t(rows) : count;
    Call call = call_on(device);
    call.name = kernel.name;
    call.op = reduces ? OpCode::kSum : name.starts_with("scan") ? OpCode::kInclusiveScan : OpCode::kSoftmax;
    call.rows = rows;
    call.cols = cols;
    const Copy<float> source(in, count, call.stream), result(out, results, call.stream);
    call.in = {source.data(), DType::kF32, cols, 1};
    if (name.ends_with("side by side")) call.in = {source.data(), DType::kF32, 1, rows};
    call.out = {result.data(), DType::kF32, reduces ? 1 : cols, 1};
    kernel.run(call);
    result.read(out);
  });
}
