// softmax.online_registers: one block a row, which stays in registers between reading and writing.
// The number of packs a thread is a template argument and every loop over them is unrolled: a run-time index would put
// the array in local memory. Each warp takes its own maximum and sum, so one barrier a row is enough. Reads each row
// once, writes it once. The default for rows that are too long for a warp. Masked or strided rows: as online_shuffle.
#include "online.cuh"
#include "row_packs.cuh"

namespace gp::softmax {

// A kernel for rows of up to `threads` x `packs` packs.
struct RegisterPolicy {
  Target target;
  int threads;
  int packs;   // of a thread; of float64 half as many, because its exponential needs their registers
  int blocks;  // resident on a multiprocessor at least, so that some load while others store
};
// CUDA, measured on an H200: while the threads of a multiprocessor suffice, four packs each beat eight packs by up to
// 2 %; from 64 KiB a row on half of 64 registers hold elements. AMD: not measured; the same, without the bound, which
// its compiler takes for waves. CPU: few threads, because each costs a context of the emulator. Every target takes the
// same rows.
constexpr RegisterPolicy kRegisterPolicies[] = {
    {Target::kCuda, 64, 4, 24}, {Target::kCuda, 128, 4, 12}, {Target::kCuda, 256, 4, 4},
    {Target::kCuda, 512, 4, 3}, {Target::kCuda, 512, 8, 2},  {Target::kCuda, 1024, 8, 1},

    {Target::kAmd, 64, 4, 1},   {Target::kAmd, 128, 4, 1},   {Target::kAmd, 256, 4, 1},
    {Target::kAmd, 512, 4, 1},  {Target::kAmd, 512, 8, 1},   {Target::kAmd, 512, 16, 1},

    {Target::kCpu, 64, 4, 1},   {Target::kCpu, 64, 8, 1},    {Target::kCpu, 64, 16, 1},
    {Target::kCpu, 64, 32, 1},  {Target::kCpu, 128, 32, 1},  {Target::kCpu, 256, 32, 1},
};
constexpr int kSizes = 6;  // policies a target
template <int kSize>
constexpr RegisterPolicy kRegisterPolicy = kRegisterPolicies[int(kTarget) * kSizes + kSize];
template <typename T, int kSize>
constexpr int kPacksOf = kRegisterPolicy<kSize>.packs / (sizeof(T) == 8 ? 2 : 1);
template <typename T, int kSize>
constexpr int kLongestRow = kRegisterPolicy<kSize>.threads * kPacksOf<T, kSize> * kPackItems<T>;

template <int kWarp, typename T, int kThreads, int kPacks, int kBlocks>
GP_KERNEL __launch_bounds__(kThreads, kBlocks) online_registers_kernel(Rows<T> rows) {
  using W = Warp<kWarp>;
  W::require();
  using A = Accum<T>;
  constexpr int kWarps = kThreads / kWarp;
  __shared__ MaxSum<A> states[kWarps];
  const int thread = threadIdx.x;
  for (index_t row = blockIdx.x; row < rows.count(); row += gridDim.x) {
    RegisterRow<T, kThreads, kPacks> values;
    values.load(RowSpan<T>(rows, row), thread);
    const A max = W::template all_reduce<Greatest<A>>(values.greatest());
    const A pivot = pivot_of(max);
    const A sum = W::template all_reduce<Sum<A, A>>(values.weigh(rows.op, pivot));
    if (W::lane() == 0) states[W::index()] = {max, sum};
    __syncthreads();  // the states of every warp are there
    const MaxSum<A> state = merge_lanes<W>(W::lane() < kWarps ? states[W::lane()] : MaxSum<A>::empty());
    if (rows.op == OpCode::kLogSumExp) {
      if (thread == 0) rows.out(row, 0) = T(Normalizer<T>(state).log_sum_exp());
    } else {
      values.store(rows, row, RowSpan<T>(rows, row), thread, state, pivot);
    }
    if (row + gridDim.x < rows.count()) __syncthreads();  // every warp has read the states before the next row's
  }
}

template <int kWarp, typename T, int kSize = 0>
void launch_registers(const Call& call) {
  constexpr RegisterPolicy kThis = kRegisterPolicy<kSize>;
  if constexpr (kSize + 1 < kSizes) {
    if (call.cols > kLongestRow<T, kSize>) return launch_registers<kWarp, T, kSize + 1>(call);
  }
  launch(online_registers_kernel<kWarp, T, kThis.threads, kPacksOf<T, kSize>, kThis.blocks>, call,
         blocks_for(call.rows, kThis.threads), rows_of<T>(call));
}

void online_registers(const Call& call) {
  visit_elements(call, EveryType{}, [&]<int kWarp, typename T>() {
    require_at_most(call, kLongestRow<T, kSizes - 1>);
    if (reads_packs(call)) return launch_registers<kWarp, T>(call);
    launch(online_kernel<kWarp, T>, call, blocks_for(call.rows, kOnlineThreads), rows_of<T>(call));
  });
}

}  // namespace gp::softmax
