// scan.lookback: one launch; each block scans one tile, and looks back over the tiles before it for what to add
// (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016). The default where
// short_rows and pipelined are not.
// A tile publishes its aggregate (A) at once; the last of each window of tiles also its inclusive prefix (P). A tile's
// prefix is the P of the window before and the A's of its own, folded in a fixed order. So there is one wait for a row
// of one window, and floats repeat bit for bit. Reads and writes each element once.
#include "strips.cuh"

namespace gp::scan {

struct LookbackPolicy {
  Target target;
  index_t most_items;  // of all rows, for this line of the table
  int threads;
};
constexpr int kLookbackMostThreads = 512;
constexpr int kLookbackStrips = 4;
// H200: as few tiles as keep the multiprocessors busy, because each of them waits for all before it; four strips beat
// two by 5 to 20 % from 2^20 up. AMD: not measured; 512 threads are 8 of the 32 waves of a compute unit, and registers
// allow four such blocks. CPU: few threads, because each costs a context of the emulator.
constexpr LookbackPolicy kLookbackPolicies[] = {
    {Target::kCuda, index_t(1) << 17, 128}, {Target::kCuda, index_t(1) << 19, 256}, {Target::kCuda, kAnyLength, 512},
    {Target::kAmd, index_t(1) << 18, 256},  {Target::kAmd, kAnyLength, 512},        {Target::kCpu, kAnyLength, 64},
};

constexpr index_t kWindow = 256;  // tiles from one published prefix to the next

// What the blocks know of each other's work.
template <typename State>
struct Tiles {
  Published<State> published;
  std::uint32_t* ticket;  // null where all blocks run at once: each takes the tile of its number
  std::uint32_t count;    // of a row

  // The slots of a row: one for each tile, one for each window but the last. A single tile needs none.
  GP_HOST_DEVICE index_t slots() const { return count == 1 ? 0 : count + (count - 1) / kWindow; }
};

// By the first warp: the combination of the tiles of the row before `tile`; lane 0 holds it. `total` is the tile's own.
template <int kWarp, typename Op>
GP_DEVICE typename Op::State look_back(const Tiles<typename Op::State>& tiles, index_t row, index_t tile,
                                       typename Op::State total) {
  using State = typename Op::State;
  const bool leader = Warp<kWarp>::lane() == 0;
  const index_t aggregates = row * tiles.slots(), prefixes = aggregates + tiles.count;
  if (leader) tiles.published.publish(aggregates + tile, total);
  const index_t window = tile / kWindow, first = window * kWindow;
  const int count = int(tile - first);
  RunningFold<kWarp, Op, 128> fold(tiles.published, aggregates + first, count);
  State before = fold.through(count);
  if (leader) {
    if (window > 0) {
      before = Op::combine(tiles.published.wait_for(tiles.published.at(prefixes + window - 1)), before);
    }
    if (tile == first + kWindow - 1 && tile + 1 < tiles.count) {
      tiles.published.publish(prefixes + window, Op::combine(before, total));
    }
  }
  return before;
}

template <int kWarp, typename Op>
GP_KERNEL __launch_bounds__(kLookbackMostThreads, 1)
    lookback_kernel(View2<const typename Op::Input> in, View2<typename Op::Result> out, bool packs_in, bool packs_out,
                    Tiles<typename Op::State> tiles, bool inclusive, Op op, Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  using State = typename Op::State;
  using Part = WarpPart<kWarp, Op, kLookbackStrips>;
  __shared__ std::uint32_t taken;
  __shared__ BlockTag tag;
  __shared__ State bases[kLookbackMostThreads / kWarp];
  // Tiles are taken in order, so the tiles that this one waits for are running or done, whatever the order of the
  // blocks.
  overlap.await_kernels_ahead();
  if (threadIdx.x == 0) tag.begin(tiles.published.launch);
  std::uint32_t own = blockIdx.x;
  if (tiles.ticket != nullptr) {
    if (threadIdx.x == 0) {
      taken = fetch_add_relaxed(tiles.ticket, 1u);
      if (taken == gridDim.x - 1) *tiles.ticket = 0;  // as the next launch expects it
    }
    __syncthreads();  // the ticket is there
    own = taken;
  }
  const index_t row = own / tiles.count, tile = own % tiles.count;
  const int warps = blockDim.x / kWarp;
  const index_t begin = (tile * warps + W::index()) * Part::kLength;

  Part part{op, Part::left_of(in.cols, begin)};
  part.load(&in(row, begin), in.col_stride, packs_in);
  overlap.admit_next_kernel();  // memory has less to do from here on
  const State of_part = part.scan();
  if (W::lane() == 0) bases[W::index()] = of_part;
  if (threadIdx.x == 0) tag.end(tiles.published.launch);
  __syncthreads();  // the totals of every warp are there, and the tag
  tiles.published.tag = tag.of(tiles.published.launch);
  if (W::index() == 0) {
    const State through = W::template inclusive_scan<Op>(W::lane() < warps ? bases[W::lane()] : Op::identity());
    State before = Op::identity();
    if (tiles.count > 1) before = look_back<kWarp, Op>(tiles, row, tile, W::shuffle(through, warps - 1));
    before = W::shuffle(before, 0);
    const State below = W::shuffle_up(through, 1);
    if (W::lane() < warps) bases[W::lane()] = W::lane() == 0 ? before : Op::combine(before, below);
  }
  __syncthreads();  // what each warp has to add is there
  part.store(&out(row, begin), out.col_stride, packs_out, bases[W::index()], inclusive);
}

void lookback_with(const Call& original, int threads) {
  const Call call = canonical(as_sum(original));
  visit(call, EveryOp{}, [&]<int kWarp, typename Op>() {
    using State = typename Op::State;
    const index_t length = threads / kWarp * WarpPart<kWarp, Op, kLookbackStrips>::kLength;
    const index_t count = ceil_div(call.cols, length), items = call.rows * count;
    if (items == 0) return;
    if (items > kMaxBlocks) {
      fail(ErrorKind::kValue, call.name, " takes up to 2^31 tiles of ", length, " elements in all; use reduce_scan");
    }
    const auto in = call.input<const typename Op::Input>();
    const auto out = call.output<typename Op::Result>();
    Tiles<State> tiles{{}, nullptr, std::uint32_t(count)};
    const Workspace workspace(call, 0, std::size_t(call.rows * tiles.slots()) * Published<State>::kWords);
    tiles.published = {workspace.tagged(), workspace.tag()};
    const auto kernel = lookback_kernel<kWarp, Op>;
    const auto launch_by = [&](auto launcher) {
      launcher(kernel, call, blocks_for(items, threads), in, out, packable_rows(in), packable_rows(out), tiles,
               is_inclusive(original), operator_of<Op>(original), Overlap{});
    };
    // A ticket takes a trip to the L2 cache before the first load: 0.2 to 0.3 us on an H200.
    if (items <= resident_blocks(kernel, call, threads)) {
      launch_by([](const auto&... arguments) { launch_resident(arguments...); });
    } else {
      tiles.ticket = workspace.counters();
      launch_by([](const auto&... arguments) { launch(arguments...); });
    }
  });
}

void lookback(const Call& call) {
  for (const LookbackPolicy& policy : kLookbackPolicies) {
    if (policy.target == kTarget && call.rows * call.cols <= policy.most_items) {
      return lookback_with(call, policy.threads);
    }
  }
}

}  // namespace gp::scan
