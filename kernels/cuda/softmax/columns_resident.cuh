// Short rows that stand side by side, kept in the registers of a lane: one read, one write. A lane takes neighbours
// where rows are so short that it would have few loads on their way otherwise, and reads and writes theirs as vectors.
#pragma once

#include "weights.cuh"

namespace gp::softmax {

// CPU: few, as in columns.cu.
constexpr int kColumnsResidentThreads = kTarget == Target::kCpu ? 64 : 256;

template <int kWarp, typename T, int kCols, int kRows>
__launch_bounds__(kColumnsResidentThreads, 2) GP_KERNEL columns_resident_kernel(Rows<T> rows, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using A = Accum<T>;
  using Neighbours = Pack<T, kRows>;
  const int cols = int(rows.cols());
  const bool is_logarithmic = rows.op == OpCode::kLogSoftmax;
  overlap.await_kernels_ahead();
  const index_t step = index_t(gridDim.x) * kColumnsResidentThreads * kRows;
  for (index_t row = (index_t(blockIdx.x) * kColumnsResidentThreads + threadIdx.x) * kRows; row < rows.count();
       row += step) {
    Neighbours kept[kCols] = {};
#pragma unroll
    for (int i = 0; i < kCols; ++i) {
      if (i < cols) kept[i] = *reinterpret_cast<const Neighbours*>(&rows.in(row, i));
    }
#pragma unroll
    for (int v = 0; v < kRows; ++v) {
      A values[kCols];
      A max = -infinity<A>();
#pragma unroll
      for (int i = 0; i < kCols; ++i) {
        values[i] = i < cols && rows.takes_part(row + v, i) ? A(kept[i].items[v]) : -infinity<A>();
        max = Greatest<A>::combine(max, values[i]);
      }
      const A pivot = pivot_of(max);
      A sum = A(0);
#pragma unroll
      for (const A value : values) sum += weight_in_sum(value - pivot);
      const MaxSum<A> state{max, sum};
      if (rows.op == OpCode::kLogSumExp) {
        rows.out(row + v, 0) = T(Normalizer<T>(state).log_sum_exp());
        continue;
      }
      apply(RowResult<T>(rows.op, state), values);
#pragma unroll
      for (int i = 0; i < kCols; ++i) {
        if (i < cols && !rows.takes_part(row + v, i)) values[i] = is_logarithmic ? -infinity<A>() : A(0);
        kept[i].items[v] = T(values[i]);
      }
    }
    if (rows.op == OpCode::kLogSumExp) continue;
#pragma unroll
    for (int i = 0; i < kCols; ++i) {
      if (i < cols) *reinterpret_cast<Neighbours*>(&rows.out(row, i)) = kept[i];
    }
  }
}

template <int kWarp, typename T, int kCols, int kRows>
void launch_columns_resident_by(const Call& call) {
  const index_t lanes = ceil_div(call.rows, kRows);
  launch(columns_resident_kernel<kWarp, T, kCols, kRows>, call,
         blocks_for(ceil_div(lanes, kColumnsResidentThreads), kColumnsResidentThreads), rows_of<T>(call), Overlap{});
}

// False where the rows are too long, or too short for a lane that cannot take neighbours. Rows of more than 16 elements
// other than float32 need more registers than there are, and on AMD their addresses do. The input alone decides,
// because the layout of the output changes no bit: where it cannot be written as vectors, a lane has one row.
template <int kWarp, typename T>
bool launch_columns_resident(const Call& call) {
  constexpr int kRows = sizeof(T) == 8 ? 2 : 4;
  const auto launch_for = [&]<int kCols, int kRowsOfLane>() {
    if (call.cols > kCols || !(kRowsOfLane == 1 || call.in.has_row_vectors(call.rows, call.cols, kRowsOfLane)))
      return false;
    if (kRowsOfLane == 1 || call.op == OpCode::kLogSumExp ||
        call.out.has_row_vectors(call.rows, call.cols, kRowsOfLane)) {
      launch_columns_resident_by<kWarp, T, kCols, kRowsOfLane>(call);
    } else {
      launch_columns_resident_by<kWarp, T, 16, 1>(call);
    }
    return true;
  };
  if (launch_for.template operator()<4, kRows>()) return true;
  if (launch_for.template operator()<8, kRows>()) return true;
  if (launch_for.template operator()<16, kRows / 2>()) return true;
  if constexpr (sizeof(T) == 4 && kTarget != Target::kAmd) {
    return call.cols > 8 && launch_for.template operator()<32, 1>();
  }
  return false;
}

}  // namespace gp::softmax
