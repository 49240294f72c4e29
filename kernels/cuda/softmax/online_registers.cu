// softmax.online_registers: one block a row, which stays in registers between reading and writing.
// The number of packs a thread is a template argument and every loop over them is unrolled: a run-time index would put
// the array in local memory. Many warps take each its own maximum and sum, and one barrier a row is enough; few take
// the row's maximum first. Reads each row once, writes it once. The default for rows that are too long for a warp.
// Masked or strided rows: as online_shuffle; rows that stand side by side: as columns.
#include "online.cuh"
#include "row_packs.cuh"

namespace gp::softmax {

// A kernel for rows of up to `row_packs` packs, of float64 half as many: its exponential needs their registers.
struct RegisterPolicy {
  Target target;
  bool reduced;  // for 16-bit elements, or for the others
  bool edges;    // takes rows that are not a whole number of aligned packs
  int row_packs;
  int threads;
  int packs;                // of a thread; of float64 half as many
  int blocks;               // resident on a multiprocessor at least, so that some load while others store
  bool prefetches = false;  // a block its first row, while the kernel ahead of it ends
};
// CUDA, measured on an H200: two packs a thread and as many threads as a multiprocessor has beat four packs by 1 to 3 %
// where a row fills the block, and lose up to 80 % where it does not. What finds edges costs 16-bit elements 1 to 3 %,
// others nothing. From 64 KiB a row on half of 64 registers hold elements. To prefetch took 0.5 to 2 % off
// where it does. AMD: not measured; four packs, without the bound, which its compiler takes for waves. CPU: few
// threads, because each costs a context of the emulator. Every target takes the same rows.
constexpr RegisterPolicy kRegisterPolicies[] = {
    {Target::kCuda, false, true, 128, 64, 2, 32},        {Target::kCuda, false, true, 192, 64, 4, 24},
    {Target::kCuda, false, true, 256, 128, 2, 16},       {Target::kCuda, false, true, 512, 128, 4, 12, true},
    {Target::kCuda, false, true, 1024, 256, 4, 4},       {Target::kCuda, false, true, 2048, 512, 4, 3, true},
    {Target::kCuda, false, true, 4096, 512, 8, 2, true}, {Target::kCuda, false, true, 8192, 1024, 8, 1},

    {Target::kCuda, true, false, 256, 64, 4, 24},        {Target::kCuda, true, true, 256, 64, 4, 24},
    {Target::kCuda, true, false, 384, 128, 4, 12, true}, {Target::kCuda, true, false, 512, 256, 2, 8, true},
    {Target::kCuda, true, true, 512, 128, 4, 12},        {Target::kCuda, true, false, 768, 256, 4, 4, true},
    {Target::kCuda, true, false, 1024, 512, 2, 4, true}, {Target::kCuda, true, true, 1024, 256, 4, 4},
    {Target::kCuda, true, false, 2048, 512, 4, 3, true}, {Target::kCuda, true, true, 2048, 512, 4, 3},
    {Target::kCuda, true, false, 4096, 512, 8, 2},       {Target::kCuda, true, true, 4096, 512, 8, 2},
    {Target::kCuda, true, true, 8192, 1024, 8, 1},

    {Target::kAmd, false, true, 256, 64, 4, 1},          {Target::kAmd, false, true, 512, 128, 4, 1},
    {Target::kAmd, false, true, 1024, 256, 4, 1},        {Target::kAmd, false, true, 2048, 512, 4, 1},
    {Target::kAmd, false, true, 4096, 512, 8, 1},        {Target::kAmd, false, true, 8192, 512, 16, 1},

    {Target::kAmd, true, true, 256, 64, 4, 1},           {Target::kAmd, true, true, 512, 128, 4, 1},
    {Target::kAmd, true, true, 1024, 256, 4, 1},         {Target::kAmd, true, true, 2048, 512, 4, 1},
    {Target::kAmd, true, true, 4096, 512, 8, 1},         {Target::kAmd, true, true, 8192, 512, 16, 1},

    {Target::kCpu, false, true, 256, 64, 4, 1},          {Target::kCpu, false, true, 1024, 64, 16, 1},
    {Target::kCpu, false, true, 2048, 64, 32, 1},        {Target::kCpu, false, true, 8192, 256, 32, 1},

    {Target::kCpu, true, false, 256, 64, 4, 1},          {Target::kCpu, true, true, 256, 64, 4, 1},
    {Target::kCpu, true, true, 1024, 64, 16, 1},         {Target::kCpu, true, true, 2048, 64, 32, 1},
    {Target::kCpu, true, true, 8192, 256, 32, 1},
};
template <typename T>
constexpr int kPackShare = sizeof(T) == 8 ? 2 : 1;  // what it has fewer packs by
template <typename T>
constexpr index_t kLongestRow = 8192 / kPackShare<T> * kPackItems<T>;

// The first line for T from `from` on. Of float64, for which one pack a thread would leave the exponential too few
// registers, and which takes long to compile, there are fewer kernels.
template <typename T>
constexpr int policy_for(int from) {
  const auto suits = [](const RegisterPolicy& line) {
    const bool fits = sizeof(T) == 8 ? line.packs >= 4 && (line.row_packs == 512 || line.row_packs >= 2048) : true;
    return line.target == kTarget && line.reduced == kIsReducedFloat<T> && fits;
  };
  while (!suits(kRegisterPolicies[from])) ++from;
  return from;
}

// So few warps tell each other their maxima first, and sum against the row's: a second barrier takes less than to merge
// states, which more warps do faster than they read so many.
constexpr int kFewWarps = 4;
// What a block holds from which on it pays to admit the next kernel: with half as many packs an H200 gains nothing,
// with a quarter it loses 14 %.
constexpr int kAdmittingPacks = 512;

template <int kWarp, typename T, int kThreads, int kPacks, bool kEdges, int kBlocks, bool kPrefetches>
GP_KERNEL __launch_bounds__(kThreads, kBlocks) online_registers_kernel(Rows<T> rows, Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  using A = Accum<T>;
  constexpr int kWarps = kThreads / kWarp;
  __shared__ MaxSum<A> states[kWarps];
  const int thread = threadIdx.x;
  if (kPrefetches && thread == 0) RowSpan<T, kEdges>(rows, blockIdx.x).prefetch();
  if constexpr (kThreads * kPacks >= kAdmittingPacks) overlap.admit_next_kernel();
  overlap.await_kernels_ahead();
  for (index_t row = blockIdx.x; row < rows.count(); row += gridDim.x) {
    RegisterRow<T, kThreads, kPacks, kEdges> values;
    values.load(RowSpan<T, kEdges>(rows, row), thread);
    A max = W::template all_reduce<Greatest<A>>(values.greatest());
    if constexpr (kWarps <= kFewWarps) {
      if (W::lane() == 0) states[W::index()].max = max;
      __syncthreads();  // the maxima of every warp are there
#pragma unroll
      for (const MaxSum<A>& of_warp : states) max = Greatest<A>::combine(max, of_warp.max);
    }
    const A pivot = pivot_of(max);
    MaxSum<A> state = {max, W::template all_reduce<Sum<A, A>>(values.weigh(rows.op, pivot))};
    if constexpr (kWarps <= kFewWarps) {
      if (W::lane() == 0) states[W::index()].sum = state.sum;  // others may still read the maxima
      __syncthreads();                                         // the sums of every warp are there
      state.sum = A(0);
#pragma unroll
      for (const MaxSum<A>& of_warp : states) state.sum += of_warp.sum;
    } else {
      if (W::lane() == 0) states[W::index()] = state;
      __syncthreads();  // the states of every warp are there
      state = merge_lanes<W>(W::lane() < kWarps ? states[W::lane()] : MaxSum<A>::empty());
    }
    if (rows.op == OpCode::kLogSumExp) {
      if (thread == 0) rows.out(row, 0) = T(Normalizer<T>(state).log_sum_exp());
    } else if constexpr (kWarps <= kFewWarps) {
      values.store(rows, row, RowSpan<T, kEdges>(rows, row), thread, state);
    } else {
      values.store(rows, row, RowSpan<T, kEdges>(rows, row), thread, state, pivot);
    }
    if (row + gridDim.x < rows.count()) __syncthreads();  // every warp has read the states before the next row's
  }
}

template <int kWarp, typename T, int kPolicy = policy_for<T>(0)>
void launch_registers(const Call& call) {
  constexpr RegisterPolicy kThis = kRegisterPolicies[kPolicy];
  constexpr int kPacks = kThis.packs / kPackShare<T>;
  constexpr index_t kCols = kThis.row_packs / kPackShare<T> * kPackItems<T>;
  static_assert(kCols <= index_t(kThis.threads) * kPacks * kPackItems<T>);
  constexpr bool kIsLast = kCols == kLongestRow<T> && kThis.edges;
  if constexpr (!kIsLast) {
    const bool fits = call.cols <= kCols && (kThis.edges || has_no_edges<T>(call));
    if (!fits) return launch_registers<kWarp, T, policy_for<T>(kPolicy + 1)>(call);
  }
  launch(online_registers_kernel<kWarp, T, kThis.threads, kPacks, kThis.edges, kThis.blocks, kThis.prefetches>, call,
         blocks_for(call.rows, kThis.threads), rows_of<T>(call), Overlap{});
}

void online_registers(const Call& call) {
  visit_elements(call, EveryType{}, [&]<int kWarp, typename T>() {
    require_at_most(call, kLongestRow<T>);
    if (reads_packs(call)) return launch_registers<kWarp, T>(call);
    if (call.stand_side_by_side()) return columns(call);
    launch(online_kernel<kWarp, T>, call, blocks_for(call.rows, kOnlineThreads), rows_of<T>(call));
  });
}

}  // namespace gp::softmax
