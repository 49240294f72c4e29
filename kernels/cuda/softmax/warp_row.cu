// softmax.warp_row: one warp a row, or a part of a warp that is enough for it; the row stays in registers.
// Reads each row once, writes it once. Every lane holds the row's state; no block barrier. The default for short rows.
// Rows of more than 1,024 columns (256 of float64), masked and strided ones: a whole warp a row, which reads it
// twice.
#include "row_packs.cuh"

namespace gp::softmax {

// A kernel for rows of up to `cols` columns. Its groups have as many lanes as the row has `packs` of packs, but no more
// than the narrowest warp has, so that one choice serves devices of either width.
struct WarpRowPolicy {
  int cols;
  int packs;    // of a lane at least
  int rows;     // of a group, loaded before the first is looked at
  int threads;  // of a block
  bool edges;   // takes rows that are not a whole number of aligned packs
  int warps;    // resident on an NVIDIA multiprocessor at least: a bound on registers
};
// H200. Few elements a lane cost more in finding the row and in shuffles than they take to arrive: two packs and two
// rows halve that. Long rows take many registers, which a block gives back when its last row is written: small blocks.
// Their bound is the highest that spills nothing; without one the compiler aims for more warps and spills float64.
// AMD's compiler takes the number for waves, and needs none. Aligned rows of 1,024 16-bit elements go four to a block:
// such blocks are few enough to admit the next kernel, which takes 4 % off.
constexpr WarpRowPolicy kWarpRow[] = {
    {32, 1, 2, 128, false, 12}, {128, 2, 2, 128, false, 12}, {256, 2, 1, 128, false, 12},
    {256, 2, 1, 128, true, 12}, {1024, 4, 1, 32, true, 28},
};
// Of 16 bits an element.
constexpr WarpRowPolicy kWarpRowReduced[] = {
    {32, 1, 2, 128, false, 12}, {128, 2, 2, 128, false, 28},  {256, 2, 1, 128, false, 12},
    {256, 2, 1, 128, true, 12}, {1024, 4, 1, 128, false, 32}, {1024, 4, 1, 32, true, 32},
};
template <typename T, int kPolicy>
constexpr WarpRowPolicy kWarpRowOf = kIsReducedFloat<T> ? kWarpRowReduced[kPolicy] : kWarpRow[kPolicy];
template <int kWarps, int kThreads>
constexpr int kLeastBlocks = kTarget == Target::kCuda ? kWarps * 32 / kThreads : 1;
constexpr int kElementsThreads = 128;
constexpr int kMostLanes = 32;
// 64 registers of a lane hold elements; the exponential of float64 needs most of the others for itself.
template <typename T>
constexpr int kMostCols = sizeof(T) == 8 ? 256 : 1024;

template <int kWarp, typename T, int kLanes, int kPacks, int kRows, int kThreads, bool kEdges, int kWarps>
GP_KERNEL __launch_bounds__(kThreads, (kLeastBlocks<kWarps, kThreads>)) warp_row_kernel(Rows<T> rows, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using A = Accum<T>;
  using Group = Warp<kWarp, kLanes>;
  constexpr index_t kBlockRows = kThreads / kLanes * kRows;
  constexpr int kGroups = kThreads / kLanes;
  const int lane = Group::lane();
  const index_t block_first = index_t(blockIdx.x) * kBlockRows, step = index_t(gridDim.x) * kBlockRows;
  if constexpr (!kEdges) {
    if (threadIdx.x == 0 && rows.in.row_stride == rows.cols()) {  // one stretch of memory
      const index_t count = smaller(kBlockRows, rows.count() - block_first);
      Overlap::prefetch(&rows.in(block_first, 0), count * rows.cols() / kPackItems<T>);
    }
  }
  overlap.await_kernels_ahead();
  for (index_t first = block_first + Group::index(); first < rows.count(); first += step) {
    RegisterRow<T, kLanes, kPacks, kEdges> values[kRows];
    A max[kRows], sum[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) values[r].load(RowSpan<T, kEdges>(rows, first + r * kGroups), lane);
#pragma unroll
    for (int r = 0; r < kRows; ++r) max[r] = Group::template all_reduce<Greatest<A>>(values[r].greatest());
    // Memory has less to do from here on. Blocks of one warp read too little for what it costs.
    if constexpr (kThreads > kWarp) overlap.admit_next_kernel();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      sum[r] = Group::template all_reduce<Sum<A, A>>(values[r].weigh(rows.op, pivot_of(max[r])));
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const index_t row = first + r * kGroups;
      if (row >= rows.count()) continue;
      const MaxSum<A> state = {max[r], sum[r]};
      if (rows.op == OpCode::kLogSumExp) {
        if (lane == 0) rows.out(row, 0) = T(Normalizer<T>(state).log_sum_exp());
      } else {
        values[r].store(rows, row, RowSpan<T, kEdges>(rows, row), lane, state);
      }
    }
  }
}

// Masks and strides: element by element, in two sweeps. Rows that stand side by side: as columns.
template <int kWarp, typename T>
GP_KERNEL warp_row_elements_kernel(Rows<T> rows, Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  using A = Accum<T>;
  overlap.await_kernels_ahead();
  for (index_t row = W::global_index(); row < rows.count(); row += W::global_count()) {
    auto state = MaxSum<A>::empty();
    for (index_t col = W::lane(); col < rows.cols(); col += kWarp) {
      if (rows.takes_part(row, col)) state.push(rows.value(row, col));
    }
    state = W::template all_reduce<MergeMaxSum<A>>(state);
    Normalizer<T>(state).write_row(rows, row, W::lane(), kWarp);
  }
}

template <int kWarp, typename T, int kPolicy = 0>
void launch_warp_row(const Call& call) {
  constexpr WarpRowPolicy kThis = kWarpRowOf<T, kPolicy>;
  constexpr int kPacks = kThis.cols / kPackItems<T>;
  constexpr int kLanes = kPacks / kThis.packs < kMostLanes ? kPacks / kThis.packs : kMostLanes;
  static_assert(!kThis.edges || kLanes >= RowSpan<T>::kMostEdges);
  constexpr bool kIsLast = kThis.cols == kMostCols<T> && kThis.edges;
  if constexpr (!kIsLast) {
    const bool fits = call.cols <= kThis.cols && (kThis.edges || has_no_edges<T>(call));
    if (!fits) return launch_warp_row<kWarp, T, kPolicy + 1>(call);
  }
  const index_t groups = ceil_div(call.rows, kThis.rows);
  launch(warp_row_kernel<kWarp, T, kLanes, kPacks / kLanes, kThis.rows, kThis.threads, kThis.edges, kThis.warps>, call,
         groups_for(groups, kLanes, kThis.threads), rows_of<T>(call), Overlap{});
}

void warp_row(const Call& call) {
  visit_elements(call, EveryType{}, [&]<int kWarp, typename T>() {
    if (reads_packs(call) && call.cols <= kMostCols<T>) return launch_warp_row<kWarp, T>(call);
    if (call.stand_side_by_side()) return columns(call);
    launch(warp_row_elements_kernel<kWarp, T>, call, groups_for(call.rows, kWarp, kElementsThreads), rows_of<T>(call),
           Overlap{});
  });
}

}  // namespace gp::softmax
