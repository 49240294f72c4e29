// Rows of few elements that stand side by side, as in the sum of a few arrays of one length. A lane takes as many
// neighbours as one access has, so it reads and writes whole vectors.
//
// The additions are those of fold_short_rows_kernel, one by one: the lanes that share a row there come one after the
// other here.
#pragma once

#include "fold_stretch.cuh"
#include "launch.cuh"

namespace gp {

struct FewPolicy {
  int threads;  // of a block; on the CPU each costs a context of the emulator
  int at_once;  // independent loads of a lane
};
inline constexpr FewPolicy kFew = {kTarget == Target::kCpu ? 64 : 256, 4};

// Rows of a lane: an access of 16 bytes, or two of 8-byte elements, which have few loads on their way otherwise. Half
// of one of bytes: the sums of sixteen, in 64 bits each, need too many registers.
template <typename Input>
inline constexpr int kFewRows = int(larger(smaller(kPackItems<Input>, 8), 4));
// Of which it writes so many as one.
template <typename Op>
inline constexpr int kFewStored = int(smaller(kFewRows<typename Op::Input>, kPackItems<typename Op::Result>));

template <int kWarp, typename Op>
__launch_bounds__(kFew.threads, 2) GP_KERNEL
    fold_few_kernel(View2<const typename Op::Input> in, Results<Op> out, int lanes, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using Input = typename Op::Input;
  using Result = typename Op::Result;
  constexpr int kRows = kFewRows<Input>, kStored = kFewStored<Op>, kItems = kPackItems<Input>,
                kAtOnce = int(smaller(kItems, kFew.at_once));
  const int cols = int(in.cols);
  overlap.await_kernels_ahead();
  const index_t step = index_t(gridDim.x) * kFew.threads * kRows;
  for (index_t row = (index_t(blockIdx.x) * kFew.threads + threadIdx.x) * kRows; row < in.rows; row += step) {
    Partial<Op> sums[kRows];
#pragma unroll
    for (Partial<Op>& sum : sums) sum = Partial<Op>::empty();
#pragma unroll 1
    for (int lane = 0; lane < lanes; ++lane) {
      Partial<Op> own[kRows];
#pragma unroll
      for (Partial<Op>& sum : own) sum = Partial<Op>::empty();
#pragma unroll 1
      for (int begin = lane * kItems; begin < cols; begin += lanes * kItems) {
        // A pack that lacks something is added to the sum, another has a partial of its own.
        const bool is_whole = begin + kItems <= cols;
        Partial<Op> parts[kRows];
#pragma unroll
        for (int v = 0; v < kRows; ++v) parts[v] = is_whole ? Partial<Op>::empty() : own[v];
#pragma unroll 1
        for (int col = begin; col < begin + kItems && col < cols; col += kAtOnce) {
          Pack<Input, kRows> read[kAtOnce];
          // Past the last column that one is read again, as in RowStretch::take.
#pragma unroll
          for (int i = 0; i < kAtOnce; ++i) {
            const Input* const from = in.data + row + index_t(col + i < cols ? col + i : cols - 1) * in.col_stride;
            read[i] = *reinterpret_cast<const Pack<Input, kRows>*>(from);
          }
#pragma unroll
          for (int i = 0; i < kAtOnce; ++i) {
            if (col + i >= cols) continue;
#pragma unroll
            for (int v = 0; v < kRows; ++v) {
              PackOf<Input> item = {};
              item.items[0] = read[i].items[v];
              parts[v].add(out.op, item, std::uint32_t(col + i), 1);
            }
          }
        }
#pragma unroll
        for (int v = 0; v < kRows; ++v) {
          if (is_whole) {
            own[v].merge(parts[v]);
          } else {
            own[v] = parts[v];
          }
        }
      }
#pragma unroll
      for (int v = 0; v < kRows; ++v) sums[v].merge(own[v]);
    }
#pragma unroll
    for (int first = 0; first < kRows; first += kStored) {
      Pack<Result, kStored> written;
#pragma unroll
      for (int v = 0; v < kStored; ++v) {
        written.items[v] = out.op.finish(sums[first + v].finish([](std::uint32_t place) { return index_t(place); }));
      }
      *reinterpret_cast<Pack<Result, kStored>*>(out.data + row + first) = written;
    }
  }
}

// Whether each lane can read and write its rows as vectors.
template <typename Op>
bool are_few_in_vectors(const Call& call) {
  return call.in.has_row_vectors(call.rows, call.cols, kFewRows<typename Op::Input>) &&
         call.out.has_row_vectors(call.rows, 1, kFewStored<Op>);
}

// `lanes` share a row in fold_short_rows_kernel.
template <int kWarp, typename Op>
void fold_few(const Call& call, const Results<Op>& out, int lanes) {
  using Input = typename Op::Input;
  const Grid grid = blocks_for(ceil_div(call.rows, index_t(kFew.threads) * kFewRows<Input>), kFew.threads);
  launch(fold_few_kernel<kWarp, Op>, call, grid, call.input<const Input>(), out, lanes, Overlap{});
}

}  // namespace gp
