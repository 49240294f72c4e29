// The scans, and the warps under them, with an operator that does not commute, for tests/layer/test_order.py.
//
// The sums that the kernels are built for are replaced by products of 2x2 matrices modulo 251, four bytes in a word,
// before the kernels' own sources are included: every driver runs as it is, from its host function on.
#include <gpuport/gpuport.cuh>

namespace gp {

struct MatrixProduct {
  using State = std::int64_t;
  using Result = std::int64_t;
  static constexpr OpCode kCode = OpCode::kSum;
  static constexpr unsigned kPrime = 251;
  static GP_HOST_DEVICE State identity() { return 0x01000001; }
  static GP_HOST_DEVICE State combine(State x, State y) {
    const auto entry = [](State m, int i) { return unsigned(m >> (8 * i) & 0xff); };
    const unsigned a = entry(x, 0), b = entry(x, 1), c = entry(x, 2), d = entry(x, 3);
    const unsigned e = entry(y, 0), f = entry(y, 1), g = entry(y, 2), h = entry(y, 3);
    return State((a * e + b * g) % kPrime) | State((a * f + b * h) % kPrime) << 8 |
           State((c * e + d * g) % kPrime) << 16 | State((c * f + d * h) % kPrime) << 24;
  }
  static GP_HOST_DEVICE Result finish(State s) { return s; }
};

template <>
struct Sum<std::int32_t, std::int64_t> : MatrixProduct {
  using Input = std::int32_t;
  static GP_HOST_DEVICE State lift(Input x) { return std::uint32_t(x); }
};
template <>
struct Sum<std::int64_t, std::int64_t> : MatrixProduct {
  using Input = std::int64_t;
  static GP_HOST_DEVICE State lift(Input x) { return x; }
};
template <>
struct KeyedSum<std::int32_t> : Sum<std::int32_t, std::int64_t> {};
template <>
struct KeyedSum<std::int64_t> : Sum<std::int64_t, std::int64_t> {};

}  // namespace gp

#include <scan/blelloch.cu>
#include <scan/hierarchical.cu>
#include <scan/hillis_steele.cu>
#include <scan/lookback.cu>
#include <scan/pipelined.cu>
#include <scan/reduce_scan.cu>
#include <scan/serial.cu>
#include <scan/short_rows.cu>

#include <gpuport/fold_in_order.cuh>

#include "harness.hpp"

namespace {

struct Named {
  const char* name;
  void (*run)(const Call&);
};
constexpr Named kScans[] = {
    {"serial", scan::serial},           {"hillis_steele", scan::hillis_steele},
    {"blelloch", scan::blelloch},       {"hierarchical", scan::hierarchical},
    {"lookback", scan::lookback},       {"pipelined", scan::pipelined},
    {"reduce_scan", scan::reduce_scan}, {"short_rows", scan::short_rows},
};

// What each lane of each group gets: the fold, the inclusive and the exclusive scan.
constexpr int kThreads = 256;
constexpr int kWarpResults = 3;
template <int kWarp, int kGroup>
GP_KERNEL warp_order_kernel(const std::int64_t* in, std::int64_t* out) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using W = Warp<kWarp, kGroup>;
  std::int64_t* const results = out + threadIdx.x * kWarpResults;
  results[0] = W::template all_reduce<MatrixProduct>(in[threadIdx.x]);
  results[1] = W::template inclusive_scan<MatrixProduct>(in[threadIdx.x]);
  results[2] = W::template exclusive_scan<MatrixProduct>(in[threadIdx.x]);
}

// The fold of fold_in_order.cuh, which promises the order too.
struct MatrixRows : AnyView2 {
  struct Running {
    std::int64_t state = MatrixProduct::identity();
    template <typename T>
    GP_DEVICE void operator()(index_t, T x) {
      state = MatrixProduct::combine(state, std::int64_t(x));
    }
  };
  GP_DEVICE std::int64_t fold(index_t row, index_t begin, index_t end) const {
    Running running;
    for_each(TypeList<std::int64_t>{}, row, begin, end, running);
    return running.state;
  }
};
struct MatrixProducts {
  std::int64_t* data;
  GP_DEVICE void write(index_t row, std::int64_t state) const { data[row] = state; }
};

}  // namespace

LAYER_API int layer_scans() { return int(std::size(kScans)); }
LAYER_API const char* layer_scan(int index) { return kScans[index].name; }

// `words`: bytes of an element, 4 or 8. One stride of the matrix is 1, the other the length of the rest.
LAYER_API int layer_scan_matrices(int device, int index, int words, int inclusive, int rows, int cols, int transposed,
                                  const void* in, std::int64_t* out) {
  return guarded([&] {
    const std::size_t count = std::size_t(rows) * std::size_t(cols);
    Call call = call_on(device);
    call.name = kScans[index].name;
    call.op = inclusive != 0 ? OpCode::kInclusiveScan : OpCode::kExclusiveScan;
    call.rows = rows;
    call.cols = cols;
    const Copy<char> source(static_cast<const char*>(in), count * std::size_t(words), call.stream);
    const Copy<std::int64_t> result(out, count, call.stream);
    const index_t row_stride = transposed != 0 ? 1 : cols, col_stride = transposed != 0 ? rows : 1;
    call.in = {source.data(), words == 4 ? DType::kI32 : DType::kI64, row_stride, col_stride};
    call.out = {result.data(), DType::kI64, row_stride, col_stride};
    kScans[index].run(call);
    result.read(out);
  });
}

// Every row is the same one.
LAYER_API int layer_fold_matrices(int device, int rows, int cols, const std::int64_t* in, std::int64_t* out) {
  return guarded([&] {
    Call call = call_on(device);
    call.rows = rows;
    call.cols = cols;
    const Copy<std::int64_t> source(in, std::size_t(cols), call.stream);
    const Copy<std::int64_t> result(out, std::size_t(rows), call.stream);
    call.in = {source.data(), DType::kI64, 0, 1};
    for_width(call, [&]<int kWarp>() {
      fold_in_order<kWarp, MatrixProduct>(call, MatrixRows{any_input(call)}, MatrixProducts{result.data()});
    });
    result.read(out);
  });
}

LAYER_API int layer_warp_order(int device, int group, const std::int64_t* in, std::int64_t* out) {
  return guarded([&] {
    const Call call = call_on(device);
    const Copy<std::int64_t> source(in, kThreads, call.stream), result(out, kThreads * kWarpResults, call.stream);
    for_width(call, [&]<int kWarp>() {
      const auto run = [&]<int kGroup>() {
        if (group == kGroup) {
          launch(warp_order_kernel<kWarp, kGroup>, call, Grid{1, kThreads}, source.data(), result.data());
        }
      };
      run.template operator()<2>();
      run.template operator()<8>();
      run.template operator()<32>();
      run.template operator()<kWarp>();
    });
    result.read(out);
  });
}
