// softmax.online_registers: one block a row, which stays in registers between the two sweeps.
// The number of elements a thread is a template argument and every loop over them is unrolled: a run-time index would
// put the array in local memory. With the values at hand a thread takes their maximum first, which spares it an
// exponential for each rise. Reads each row once, writes it once. Rows of up to 4,096 columns, 2,048 of float64.
#include "row.cuh"

namespace gp::softmax {

constexpr int kRegisterThreads = 256;
// Elements a thread at most: with more, the unrolled exponentials and addresses spill on sm_90.
constexpr int most_items(DType dtype) { return dtype == DType::kF64 ? 8 : 16; }

template <int kWarp, typename T, int kItems>
GP_KERNEL online_registers_kernel(Rows<T> rows) {
  Warp<kWarp>::require();
  using A = Accum<T>;
  using Block = BlockReduce<kWarp, kRegisterThreads, MergeMaxSum<A>>;
  __shared__ typename Block::Storage storage;
  const int thread = threadIdx.x;
  for (index_t row = blockIdx.x; row < rows.count(); row += gridDim.x) {
    A values[kItems];
    // One bit an item; an element that takes no part must not reach the state.
    std::uint64_t taken = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const index_t col = index_t(i) * kRegisterThreads + thread;
      const bool takes_part = col < rows.cols() && rows.takes_part(row, col);
      values[i] = takes_part ? rows.value(row, col) : -infinity<A>();
      taken |= std::uint64_t(takes_part) << i;
    }
    auto state = MaxSum<A>::empty();
#pragma unroll
    for (int i = 0; i < kItems; ++i) state.max = values[i] > state.max ? values[i] : state.max;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (values[i] != -infinity<A>()) state.sum += shifted_exponential(values[i], state.max);
    }
    state = Block::all_reduce(state, storage);
    const Normalizer<T> normalizer(state);
    if (rows.op == OpCode::kLogSumExp) {
      if (thread == 0) rows.out(row, 0) = T(normalizer.log_sum_exp());
    } else {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const index_t col = index_t(i) * kRegisterThreads + thread;
        if (col < rows.cols()) rows.out(row, col) = T(normalizer.result(rows.op, (taken >> i & 1) != 0, values[i]));
      }
    }
    __syncthreads();  // every warp has read the storage before the next row reuses it
  }
}

template <int... kItems, typename F>
void visit_items(index_t cols, std::integer_sequence<int, kItems...>, F&& f) {
  (void)((cols <= index_t(kRegisterThreads) * kItems && (f.template operator()<kItems>(), true)) || ...);
}

void online_registers(const Call& call) {
  require_at_most(call, index_t(kRegisterThreads) * most_items(call.in.dtype));
  visit_elements(call, TeachingTypes{}, [&]<int kWarp, typename T>() {
    constexpr int kMostItems = most_items(kDTypeOf<T>);
    visit_items(call.cols, std::integer_sequence<int, 4, kMostItems / 2, kMostItems>{}, [&]<int kItems>() {
      launch(online_registers_kernel<kWarp, T, kItems>, call, blocks_for(call.rows, kRegisterThreads),
             rows_of<T>(call));
    });
  });
}

}  // namespace gp::softmax
