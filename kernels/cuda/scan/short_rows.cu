// scan.short_rows: many short rows, eight lanes a row. The default for them.
// A block takes 32 rows, 64 columns at a time, through shared memory: it is filled and emptied along whichever
// direction is the closer one in memory, so rows that lie side by side (axis 0 of a C-ordered array) are read and
// written as well as rows that lie one after the other. In between each lane scans neighbours, and the lanes of a row
// their totals. Reads and writes each element once. The order of the additions depends on the length alone, so results
// repeat bit for bit, in any layout. One kernel for each accumulator takes all element types.
#include <gpuport/elements.cuh>
#include <gpuport/launch.cuh>
#include <gpuport/ops.cuh>
#include <gpuport/warp.cuh>

#include "operators.hpp"

namespace gp::scan {

constexpr int kShortThreads = 256;
constexpr int kShortLanes = 8;  // of a row
constexpr int kShortRows = kShortThreads / kShortLanes;
constexpr int kShortCols = 64;  // of a tile

template <typename A>
using ShortTypes = std::conditional_t<
    std::is_same_v<A, std::int64_t>, ExactTypes,
    std::conditional_t<std::is_same_v<A, float>, TypeList<float16, bfloat16, float>, TypeList<double>>>;

template <typename A>
struct ShortTile {
  A items[kShortRows][kShortCols + 1];  // one more, so that a column's items lie in different banks

  // Calls f(row, col) for what the thread moves: neighbouring threads take neighbours in memory.
  template <typename F>
  static GP_DEVICE void for_each(bool rows_are_closer, int rows, int cols, F&& f) {
    const int count = rows * cols, across = rows_are_closer ? rows : cols;
    for (int i = threadIdx.x; i < count; i += kShortThreads) {
      const int quotient = i / across, rest = i - quotient * across;
      f(rows_are_closer ? rest : quotient, rows_are_closer ? quotient : rest);
    }
  }
};

GP_DEVICE bool rows_are_closer(index_t row_stride, index_t col_stride) {
  return (row_stride < 0 ? -row_stride : row_stride) < (col_stride < 0 ? -col_stride : col_stride);
}

template <int kWarp, typename A>
GP_KERNEL short_rows_kernel(AnyView2 in, void* out, DType out_dtype, index_t out_row_stride, index_t out_col_stride,
                            bool inclusive, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using Row = Warp<kWarp, kShortLanes>;
  using Op = Sum<A, A>;
  using Tile = ShortTile<A>;
  __shared__ Tile tile;
  A* const items = tile.items[Row::index()];
  overlap.await_kernels_ahead();
  for (index_t first = index_t(blockIdx.x) * kShortRows; first < in.rows; first += index_t(gridDim.x) * kShortRows) {
    const int rows = int(in.rows - first < kShortRows ? in.rows - first : kShortRows);
    const bool exists = Row::index() < rows;
    A carry = Op::identity();
    for (index_t base = 0; base < in.cols; base += kShortCols) {
      const int cols = int(in.cols - base < kShortCols ? in.cols - base : kShortCols);
      visit_type(ShortTypes<A>{}, in.dtype, [&](auto element) {
        using T = typename decltype(element)::type;
        const T* const from = static_cast<const T*>(in.data) + first * in.row_stride + base * in.col_stride;
        Tile::for_each(rows_are_closer(in.row_stride, in.col_stride), rows, cols, [&](int row, int col) {
          tile.items[row][col] = A(from[row * in.row_stride + col * in.col_stride]);
        });
      });
      __syncthreads();  // the tile is filled

      const int share = (cols + kShortLanes - 1) / kShortLanes, own = Row::lane() * share;
      const int begin = own < cols ? own : cols, end = begin + share < cols ? begin + share : cols;
      A total = Op::identity();
      for (int col = begin; exists && col < end; ++col) total = Op::combine(total, items[col]);
      const A within = Row::template exclusive_scan<Op>(total);
      A before = Op::combine(carry, within);
      carry = Op::combine(carry, Row::shuffle(Op::combine(within, total), kShortLanes - 1));
      for (int col = begin; exists && col < end; ++col) {
        const A after = Op::combine(before, items[col]);
        items[col] = inclusive ? after : before;
        before = after;
      }
      __syncthreads();  // the results are in the tile

      using Results = std::conditional_t<std::is_same_v<A, std::int64_t>, TypeList<std::int64_t>, ShortTypes<A>>;
      visit_type(Results{}, out_dtype, [&](auto element) {
        using T = typename decltype(element)::type;
        T* const to = static_cast<T*>(out) + first * out_row_stride + base * out_col_stride;
        Tile::for_each(rows_are_closer(out_row_stride, out_col_stride), rows, cols, [&](int row, int col) {
          to[row * out_row_stride + col * out_col_stride] = T(tile.items[row][col]);
        });
      });
      __syncthreads();  // the tile is read before it is filled again
    }
  }
}

void short_rows(const Call& original) {
  const Call call = as_sum(original);
  const auto scan_rows = [&]<int kWarp, typename A>() {
    launch(short_rows_kernel<kWarp, A>, call, groups_for(call.rows, kShortLanes, kShortThreads), any_input(call),
           call.out.data, call.out.dtype, call.out.row_stride, call.out.col_stride, is_inclusive(original), Overlap{});
  };
  visit_width(call, [&]<int kWarp>() {
    const DType in = call.in.dtype, to = call.out.dtype;
    const bool is_float = in == DType::kF16 || in == DType::kBF16 || in == DType::kF32 || in == DType::kF64;
    if (is_float ? in != to : to != DType::kI64) detail::refuse_dtypes(call);
    if (!is_float) {
      scan_rows.template operator()<kWarp, std::int64_t>();
    } else if (in == DType::kF64) {
      scan_rows.template operator()<kWarp, double>();
    } else {
      scan_rows.template operator()<kWarp, float>();
    }
  });
}

}  // namespace gp::scan
