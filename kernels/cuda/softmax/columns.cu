// softmax.columns: a lane a row, for rows that stand side by side in memory, as along the first axis of a matrix in
// C order; the defaults go here for those. A warp reads neighbours of kWarp rows at once. The warps of a block share
// the columns of its rows, and so do several blocks where rows are few: then one launch leaves the (max, sum) of each
// stretch in temporary storage, and a second merges them in index order and writes. Reads each row twice, writes it
// once; short rows stay in registers and are read once: columns_resident.cuh. The cut depends on the shape alone.
#include "columns_resident.cuh"
#include "weights.cuh"

namespace gp::softmax {

struct ColumnsPolicy {
  int threads;         // of a block
  index_t blocks;      // at most, where several share a row
  index_t split_cols;  // of a stretch, at least
};
// CPU: few threads, because each costs a context of the emulator.
constexpr ColumnsPolicy kColumnsPolicy = {kTarget == Target::kCpu ? 128 : 512, 528, 512};
constexpr int kColumnsAtOnce = 8;  // of a lane, for their loads to be on their way together

enum class Phase : std::uint8_t { kWhole, kStates, kResults };

struct ColumnsShape {
  index_t splits, length;  // stretches of a row
  int warps;               // of a block, for each of its rows: a power of two
  index_t blocks;          // for each stretch
};

// The elements of one row that a warp takes of a stretch: kColumnsAtOnce in turn.
template <typename T>
struct ColumnsRow {
  using A = Accum<T>;
  const Rows<T>& rows;
  index_t row, begin, end, step;

  // Calls f(col, count) for each run of columns.
  template <typename F>
  GP_DEVICE void for_each_run(F f) const {
#pragma unroll 1
    for (index_t col = begin; col < end; col += step) f(col, int(smaller(end - col, kColumnsAtOnce)));
  }
  // What takes no part is -inf.
  GP_DEVICE void load(index_t col, int count, A (&values)[kColumnsAtOnce]) const {
    const T* const from = &rows.in(row, col);
    T items[kColumnsAtOnce];
#pragma unroll
    for (int i = 0; i < kColumnsAtOnce; ++i) items[i] = from[(i < count ? i : 0) * rows.in.col_stride];
#pragma unroll
    for (int i = 0; i < kColumnsAtOnce; ++i) {
      values[i] = i < count && rows.takes_part(row, col + i) ? A(items[i]) : -infinity<A>();
    }
  }

  GP_DEVICE MaxSum<A> state() const {
    auto state = MaxSum<A>::empty();
    for_each_run([&](index_t col, int count) {
      A values[kColumnsAtOnce];
      load(col, count, values);
      A max = state.max;
#pragma unroll
      for (const A value : values) max = Greatest<A>::combine(max, value);
      const A pivot = pivot_of(max);
      A sum = state.sum * weight_in_sum(state.max - pivot);
#pragma unroll
      for (const A value : values) sum += weight_in_sum(value - pivot);
      state = {max, sum};
    });
    return state;
  }

  GP_DEVICE void write(const MaxSum<A>& state) const {
    const bool is_logarithmic = rows.op == OpCode::kLogSoftmax;
    const RowResult<T> result(rows.op, state);
    for_each_run([&](index_t col, int count) {
      A values[kColumnsAtOnce];
      load(col, count, values);
      apply(result, values);
      T* const to = &rows.out(row, col);
#pragma unroll
      for (int i = 0; i < kColumnsAtOnce; ++i) {
        if (i >= count) continue;
        if (!rows.takes_part(row, col + i)) values[i] = is_logarithmic ? -infinity<A>() : A(0);
        to[i * rows.out.col_stride] = T(values[i]);
      }
    });
  }
};

// The states at `first`, first + step, ... in their order.
template <typename A>
GP_DEVICE MaxSum<A> merge_in_order(const MaxSum<A>* first, int count, index_t step) {
  A max = -infinity<A>();
#pragma unroll 1
  for (int i = 0; i < count; ++i) max = Greatest<A>::combine(max, first[i * step].max);
  const A pivot = pivot_of(max);
  A sum = A(0);
#pragma unroll 1
  for (int i = 0; i < count; ++i) sum += first[i * step].sum * weight_in_sum(first[i * step].max - pivot);
  return {max, sum};
}

template <int kWarp, typename T>
__launch_bounds__(kColumnsPolicy.threads, sizeof(T) == 8 ? 1 : 2) GP_KERNEL
    columns_kernel(Rows<T> rows, MaxSum<Accum<T>>* states, ColumnsShape shape, Phase phase, Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  using A = Accum<T>;
  __shared__ MaxSum<A> own[kColumnsPolicy.threads];
  const int thread = threadIdx.x, warp = W::index() & (shape.warps - 1);
  overlap.await_kernels_ahead();
  const index_t together = kColumnsPolicy.threads / kWarp / shape.warps;
  for (index_t item = blockIdx.x; item < shape.blocks * shape.splits; item += gridDim.x) {
    // Neighbouring blocks have neighbouring rows.
    const index_t split = shape.splits == 1 ? 0 : item / shape.blocks, block = item - split * shape.blocks;
    const index_t row = (block * together + W::index() / shape.warps) * kWarp + W::lane();
    const bool is_row = row < rows.count();
    const index_t stretch = split * shape.length, end = smaller(stretch + shape.length, rows.cols());
    const ColumnsRow<T> columns{rows, is_row ? row : rows.count() - 1, stretch + warp * kColumnsAtOnce, end,
                                index_t(shape.warps) * kColumnsAtOnce};
    MaxSum<A> state;
    if (phase == Phase::kResults) {
      state = merge_in_order(states + columns.row, int(shape.splits), rows.count());
    } else {
      own[thread] = columns.state();
      __syncthreads();  // every warp has written its own
      state = merge_in_order(own + (thread - warp * kWarp), shape.warps, kWarp);
    }
    if (phase == Phase::kStates) {
      if (warp == 0 && is_row) states[split * rows.count() + row] = state;
    } else if (rows.op == OpCode::kLogSumExp) {
      if (warp == 0 && is_row && split == 0) rows.out(row, 0) = T(Normalizer<T>(state).log_sum_exp());
    } else if (is_row) {
      columns.write(state);
    }
    __syncthreads();  // every warp has read the states before the next item reuses them
  }
}

template <int kWarp, typename T>
void launch_columns(const Call& call) {
  if (launch_columns_resident<kWarp, T>(call)) return;
  constexpr int kMostWarps = kColumnsPolicy.threads / kWarp;
  const index_t groups = ceil_div(call.rows, kWarp);
  ColumnsShape shape{1, call.cols, 1, groups};
  while (shape.warps < kMostWarps && call.cols > 2 * kColumnsAtOnce * shape.warps) shape.warps *= 2;
  shape.blocks = ceil_div(groups, kMostWarps / shape.warps);
  const index_t wanted = smaller(kColumnsPolicy.blocks / shape.blocks, call.cols / kColumnsPolicy.split_cols);
  if (wanted > 1) {
    shape.length = ceil_div(call.cols, wanted);
    shape.splits = ceil_div(call.cols, shape.length);
  }
  const auto kernel = columns_kernel<kWarp, T>;
  const Grid grid = blocks_for(shape.blocks * shape.splits, kColumnsPolicy.threads);
  using State = MaxSum<Accum<T>>;
  if (shape.splits == 1) {
    launch(kernel, call, grid, rows_of<T>(call), static_cast<State*>(nullptr), shape, Phase::kWhole, Overlap{});
    return;
  }
  const Workspace workspace(call, std::size_t(call.rows * shape.splits) * sizeof(State));
  for (const Phase phase : {Phase::kStates, Phase::kResults}) {
    launch(kernel, call, grid, rows_of<T>(call), workspace.data<State>(), shape, phase, Overlap{});
  }
}

void columns(const Call& call) {
  visit_elements(call, EveryType{}, [&]<int kWarp, typename T>() { launch_columns<kWarp, T>(call); });
}

}  // namespace gp::softmax
