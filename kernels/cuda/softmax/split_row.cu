// softmax.split_row: several blocks a row, for long rows. The default for those.
// One launch, in which a row is read once and written once: many rows stream through the chip (row_stream.cuh), and of
// few huge ones as much stays there as fits (row_resident.cuh). Masked, strided and short rows, and few huge ones of
// float64, take two launches and are read twice: the first leaves the (max, sum) of each stretch of each row in
// temporary storage; in the second, every block merges the states of its row in index order and writes its stretch. The
// cut depends on the shape and the device alone, so results repeat bit for bit. Rows that stand side by side: as
// columns.
#include "row_resident.cuh"
#include "row_stream.cuh"

namespace gp::softmax {

constexpr int kSplitThreads = 256;
constexpr index_t kSplitCols = 8192;  // a stretch has at least so many columns: a block's worth of work
constexpr index_t kMostSplits = 1024;
constexpr index_t kMostStates = 4096;  // of all rows; with more rows than that one block a row keeps the device busy

template <int kWarp, typename T>
GP_KERNEL split_states_kernel(Rows<T> rows, View2<MaxSum<Accum<T>>> states, index_t stretch, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using A = Accum<T>;
  using Block = BlockReduce<kWarp, kSplitThreads, MergeMaxSum<A>>;
  __shared__ typename Block::Storage storage;
  overlap.await_kernels_ahead();
  for (index_t item = blockIdx.x; item < rows.count() * states.cols; item += gridDim.x) {
    const index_t row = item / states.cols, part = item % states.cols, begin = part * stretch;
    const index_t end = begin + stretch < rows.cols() ? begin + stretch : rows.cols();
    auto state = MaxSum<A>::empty();
    for (index_t col = begin + threadIdx.x; col < end; col += kSplitThreads) {
      if (rows.takes_part(row, col)) state.push(rows.value(row, col));
    }
    state = Block::all_reduce(state, storage);
    if (threadIdx.x == 0) states(row, part) = state;
    __syncthreads();  // every warp has read the storage before the next item reuses it
  }
}

template <int kWarp, typename T>
GP_KERNEL split_row_kernel(Rows<T> rows, View2<const MaxSum<Accum<T>>> states, index_t stretch, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using A = Accum<T>;
  using Block = BlockReduce<kWarp, kSplitThreads, MergeMaxSum<A>>;
  __shared__ typename Block::Storage storage;
  overlap.await_kernels_ahead();
  for (index_t item = blockIdx.x; item < rows.count() * states.cols; item += gridDim.x) {
    const index_t row = item / states.cols, part = item % states.cols, begin = part * stretch;
    const index_t end = begin + stretch < rows.cols() ? begin + stretch : rows.cols();
    auto state = MaxSum<A>::empty();
    for (index_t i = threadIdx.x; i < states.cols; i += kSplitThreads) {
      state = MergeMaxSum<A>::combine(state, states(row, i));
    }
    state = Block::all_reduce(state, storage);
    Normalizer<T>(state).write_columns(rows, row, begin + threadIdx.x, kSplitThreads, end);
    __syncthreads();  // every warp has read the storage before the next item reuses it
  }
}

template <int kWarp, typename T>
void launch_in_stretches(const Call& call) {
  using State = MaxSum<Accum<T>>;
  const index_t wanted = smaller(call.cols / kSplitCols, kMostSplits);
  const index_t most = larger(1, smaller(wanted, kMostStates / call.rows));
  const index_t stretch = larger(1, ceil_div(call.cols, most));
  const index_t splits = larger(1, ceil_div(call.cols, stretch));
  const Workspace workspace(call, std::size_t(call.rows * splits) * sizeof(State));
  State* const data = workspace.data<State>();
  const Grid grid = blocks_for(call.rows * splits, kSplitThreads);
  launch(split_states_kernel<kWarp, T>, call, grid, rows_of<T>(call), View2<State>{data, call.rows, splits, splits, 1},
         stretch, Overlap{});
  launch(split_row_kernel<kWarp, T>, call, grid, rows_of<T>(call),
         View2<const State>{data, call.rows, splits, splits, 1}, stretch, Overlap{});
}

// By what a block may have of shared memory: the ring fills it. Only the first line is measured, on an H200. AMD: one
// block of few waves leaves the unit's others to a second block. CPU: few threads, because each costs a context of the
// emulator.
struct RingPolicy {
  Target target;
  int least_shared_bytes;
  int threads;  // workers of a block, at most
  int most_stages;
  int most_blocks;
};
constexpr int kAnyNumber = std::numeric_limits<int>::max();
constexpr RingPolicy kRingPolicies[] = {
    {Target::kCuda, 160 << 10, 512, kMostStages, kAnyNumber},
    {Target::kCuda, 96 << 10, 256, kMostStages, kAnyNumber},
    {Target::kCuda, 0, 128, kMostStages, kAnyNumber},
    {Target::kAmd, 0, 128, kMostStages, kAnyNumber},
    {Target::kCpu, 0, 64, 7, 8},
};
// The first line that fits. Every target has a line for any device.
inline const RingPolicy& ring_policy(int shared_bytes) {
  const RingPolicy* line = kRingPolicies;
  while (line->target != kTarget || shared_bytes < line->least_shared_bytes) ++line;
  return *line;
}

// Tiles of a block that few rows keep in registers: 16 of them a worker for each; a fourth would be spilled. Elements
// of 16 bits take as many again when they are widened. None of float64, which has no such kernel: its exponential makes
// it take long to compile, for rows that are rare.
template <typename T>
constexpr int kHeldTiles = kIsReducedFloat<T> ? 1
                           : sizeof(T) == 8   ? 0
                                              : 3;
constexpr index_t kMostTiles = 1 << 30;  // counted in 32 bits
constexpr int kStaticBytes = 2560;       // what the kernels have besides the ring

template <int kWarp, typename T>
struct TileLaunch {
  using State = MaxSum<Accum<T>>;
  const Call& call;
  int threads, stages;
  TileShape shape;
  index_t most_blocks;

  TileLaunch(const Call& call, const RingPolicy& policy, int shared_bytes, int most_threads)
      : call(call), threads(int(smaller(policy.threads, most_threads))), most_blocks(policy.most_blocks) {
    shape.packs = threads * kTilePacks;
    shape.tiles = int(ceil_div(call.cols / kPackItems<T>, shape.packs));
    const int fit = (shared_bytes - kStaticBytes) / (shape.packs * kVectorBytes);
    stages = int(smaller(fit, policy.most_stages));
  }

  std::size_t ring_bytes() const { return std::size_t(stages * shape.packs) * kVectorBytes; }

  // The rows stream through if their tiles are near enough to each other.
  template <bool kEdges>
  bool stream() const {
    const auto kernel = stream_rows_kernel<kWarp, T, kEdges>;
    Grid grid = {call.rows * shape.tiles, threads + kServiceWarps * kWarp, ring_bytes()};
    const index_t fit = resident_blocks(kernel, call, grid.threads, grid.shared_bytes);
    grid.blocks = smaller(grid.blocks, smaller(fit, most_blocks));
    Plan plan{threads / kWarp, stages - kOnTheWay - 1, stages, 0, shape.tiles, 0, int(call.rows) * shape.tiles};
    if ((shape.tiles - 2) / grid.blocks + 1 > plan.ahead) return false;
    plan.deal_to(grid.blocks);
    const Workspace workspace(call, 0, std::size_t(plan.items) * Published<State>::kWords);
    launch_resident(kernel, call, grid, rows_of<T>(call), shape, plan,
                    Published<State>{workspace.tagged(), workspace.tag()}, Overlap{});
    return true;
  }

  void keep() const {
    const auto kernel = resident_rows_kernel<kWarp, T, kHeldTiles<T>>;
    const index_t fit = resident_blocks(kernel, call, threads, ring_bytes());
    const Grid grid = {smaller(shape.tiles, smaller(fit, most_blocks)), threads, ring_bytes()};
    const Workspace workspace(call, 0, std::size_t(call.rows * grid.blocks) * Published<State>::kWords);
    launch_resident(kernel, call, grid, rows_of<T>(call), shape, RingShape{threads, stages},
                    Published<State>{workspace.tagged(), workspace.tag()}, Overlap{});
  }
};

template <int kWarp, typename T>
void launch_split(const Call& call) {
  const int shared_bytes = most_shared_bytes(call.device);
  const RingPolicy& policy = ring_policy(shared_bytes);
  const TileLaunch<kWarp, T> streamed(call, policy, shared_bytes, kStreamThreads<T>);
  if (!reads_packs(call) || streamed.shape.tiles < 2 || call.cols / kPackItems<T> > kMostRowPacks ||
      call.rows * streamed.shape.tiles > kMostTiles) {
    return launch_in_stretches<kWarp, T>(call);
  }
  // What finds edges is a seventh of the work on 16-bit elements, of others less.
  if constexpr (kIsReducedFloat<T>) {
    if (has_no_edges<T>(call) && streamed.template stream<false>()) return;
  }
  if (streamed.template stream<true>()) return;
  if constexpr (kHeldTiles<T> == 0) {
    launch_in_stretches<kWarp, T>(call);
  } else {
    TileLaunch<kWarp, T>(call, policy, shared_bytes, kResidentThreads).keep();
  }
}

void split_row(const Call& call) {
  if (call.stand_side_by_side()) return columns(call);
  visit_elements(call, EveryType{}, [&]<int kWarp, typename T>() { launch_split<kWarp, T>(call); });
}

}  // namespace gp::softmax
