// scan.pipelined: one launch of blocks that all run at once, a pipeline in each. The default for long rows.
// A block takes every gridDim.x-th tile. Its tiles stream through a ring of stages in shared memory: copies are on
// their way for some, the aggregates of the next `ahead` are published already, and the oldest is scanned. So by the
// time a tile is scanned, its look-back has long been done, and memory is never waited for. One warp publishes the
// aggregates, one looks back: it reads the aggregate of every tile once, in a fixed order, so results do not depend on
// the number of blocks or on timing; floats repeat bit for bit. Reads and writes each element once. A row that is not
// aligned to 16 bytes, or not contiguous, goes through the ring element by element.
#include <algorithm>

#include "strips.cuh"

namespace gp::scan {

// Of 4 and 8 bytes an element: what the ring copies asynchronously.
using PipelinedOps = TypeList<Sum<std::int32_t, std::int64_t>, Sum<std::uint32_t, std::int64_t>,
                              Sum<std::int64_t, std::int64_t>, Sum<float, float>, Sum<double, double>>;

constexpr int kPipelinedStrips = 2;
constexpr int kOnTheWay = 4;  // tiles whose copies have begun and are not waited for yet

struct Pipeline {
  int warps;  // that scan; two more publish and look back
  int ahead;  // how many tiles the aggregates are ahead of the scans

  int stages() const { return kOnTheWay + ahead + 1; }
};
constexpr int kMostWarps = 24, kMostStages = 16, kServiceWarps = 2;
// Lanes of the narrowest warp: with wider ones there are fewer warps in as many threads.
constexpr int kPipelinedMostThreads = (kMostWarps + kServiceWarps) * 32;

struct PipelinePolicy {
  Target target;
  int shared_bytes;  // what a block may have, for this line of the table
  Pipeline shape;
};
// H200: 24 warps with 4 + 4 + 1 stages fill the shared memory; 96 KiB of copies on their way keep the memory busy, and
// four tiles ahead is longer than a look-back takes. The other GPUs are not measured: the ring fills what they have.
// AMD has no asynchronous copies that this code uses, so what hides latency there is waves: eight of them and a short
// ring. CPU: a small block, because each thread is a context.
constexpr PipelinePolicy kPipelines[] = {
    {Target::kCuda, 227 << 10, {24, 4}}, {Target::kCuda, 163 << 10, {20, 3}}, {Target::kCuda, 99 << 10, {12, 3}},
    {Target::kCuda, 0, {8, 2}},          {Target::kAmd, 0, {4, 1}},           {Target::kCpu, 0, {2, 1}},
};

using RingBytes = Pack<unsigned char, kVectorBytes>;

// Where a block is in its tiles.
struct Walk {
  int row, tile;
  int stage = 0;
  std::uint32_t round = 0;  // how often the ring has gone round
};

struct Plan {
  int warps, ahead, stages;
  std::uint32_t length;           // of a tile
  int tiles, whole_tiles, items;  // of a row, of those the ones that are no shorter; of all rows
  int stride_rows, stride_tiles;  // both together: from one tile of a block to its next
  bool packs_in, packs_out;       // rows may be read, written by packs

  GP_DEVICE int count() const { return (items - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x); }
  GP_DEVICE Walk begin() const { return {int(blockIdx.x) / tiles, int(blockIdx.x) % tiles}; }
  GP_DEVICE void advance(Walk& walk) const {
    walk.row += stride_rows;
    walk.tile += stride_tiles;
    if (walk.tile >= tiles) {
      walk.tile -= tiles;
      ++walk.row;
    }
    if (++walk.stage == stages) {
      walk.stage = 0;
      ++walk.round;
    }
  }
};

// What the warps of a block tell each other about the tile in each stage. A stage serves its next tile only after all
// warps have scanned the one before, so nobody is ever more than one round behind.
template <typename State>
struct Exchange {
  State bases[kMostStages][kMostWarps];  // each warp's total; then what is before the warp's part in the tile
  State before[kMostStages];             // what is before the tile
  Signal totals[kMostStages], published[kMostStages], looked_back[kMostStages];
};

// Combines the warps' totals of each tile and publishes it.
template <int kWarp, typename Op>
GP_DEVICE void publish_tiles(const Plan& plan, const Published<typename Op::State>& published,
                             Exchange<typename Op::State>& exchange) {
  using W = Warp<kWarp>;
  using State = typename Op::State;
  const int lane = W::lane(), warps = plan.warps;
  Walk walk = plan.begin();
  for (int left = plan.count(); left > 0; --left, plan.advance(walk)) {
    exchange.totals[walk.stage].wait(walk.round);
    State* const bases = exchange.bases[walk.stage];
    const State through = W::template inclusive_scan<Op>(lane < warps ? bases[lane] : Op::identity());
    if (lane == warps - 1) published.publish(index_t(walk.row) * plan.tiles + walk.tile, through);
    const State below = W::shuffle_up(through, 1);
    if (lane < warps) bases[lane] = lane == 0 ? Op::identity() : below;
    W::sync();  // every lane has written before one says so
    if (lane == 0) exchange.published[walk.stage].arrive();
  }
}

// Combines the tiles of the row before each tile.
template <int kWarp, typename Op>
GP_DEVICE void look_back(const Plan& plan, const Published<typename Op::State>& published,
                         Exchange<typename Op::State>& exchange) {
  using State = typename Op::State;
  Walk walk = plan.begin();
  using Fold = RunningFold<kWarp, Op, 2>;
  Fold fold(index_t(walk.row) * plan.tiles);
  for (int left = plan.count(); left > 0; --left) {
    const State before = fold.through(published, walk.tile);
    exchange.published[walk.stage].wait(walk.round);  // every warp has left the tile that had the stage before
    if (Warp<kWarp>::lane() == 0) {
      exchange.before[walk.stage] = before;
      exchange.looked_back[walk.stage].arrive();
    }
    const int row = walk.row;
    plan.advance(walk);
    if (walk.row != row) fold = Fold(index_t(walk.row) * plan.tiles);
  }
}

// The rest of the warps: each has its own slices of the ring, so no barrier guards them.
template <int kWarp, typename Op>
struct Scanner {
  using W = Warp<kWarp>;
  using Part = WarpPart<kWarp, Op, kPipelinedStrips>;
  using Items = typename Part::Items;
  using State = typename Op::State;
  const View2<const typename Op::Input>& in;
  const View2<typename Op::Result>& out;
  const Plan& plan;
  Exchange<State>& exchange;
  Items* ring;         // this lane's part of the first stage
  std::uint32_t part;  // where the warp's part begins in a tile

  GP_DEVICE Items* slice(const Walk& walk) const { return ring + walk.stage * (plan.warps * Part::kStrips * kWarp); }
  GP_DEVICE index_t begin_of(const Walk& walk) const {
    return index_t(std::uint64_t(std::uint32_t(walk.tile)) * plan.length + part);
  }
  GP_DEVICE int left_of(const Walk& walk) const {
    return walk.tile < plan.whole_tiles ? Part::kLength : Part::left_of(in.cols, begin_of(walk));
  }

  GP_DEVICE void fill(const Walk& walk) const {
    const index_t begin = begin_of(walk);
    const typename Op::Input* const row = in.data + walk.row * in.row_stride;
    Items* const slots = slice(walk);
    if (plan.packs_in && walk.tile < plan.whole_tiles) {
      const auto* const source = reinterpret_cast<const Items*>(row + begin) + W::lane();
#pragma unroll
      for (int s = 0; s < Part::kStrips; ++s) copy_async(slots + s * kWarp, source + s * kWarp);
    } else {
      const int left = left_of(walk);
#pragma unroll 1
      for (int s = 0; s < Part::kStrips; ++s) {
#pragma unroll 1
        for (int i = 0; i < Part::kItems; ++i) {
          const int at = Part::offset(s) + i;
          if (at < left) copy_async(&slots[s * kWarp].items[i], row + (begin + at) * in.col_stride);
        }
      }
    }
  }

  GP_DEVICE Part read(const Walk& walk) const {
    Part values;
    values.left = left_of(walk);
    const Items* const slots = slice(walk);
#pragma unroll
    for (int s = 0; s < Part::kStrips; ++s) values.items[s] = slots[s * kWarp];
    values.fill();
    return values;
  }

  GP_DEVICE void sum(const Walk& walk) const {
    const State total = read(walk).total();
    if (W::lane() == 0) {
      exchange.bases[walk.stage][W::index()] = total;
      exchange.totals[walk.stage].arrive();
    }
  }

  GP_DEVICE void scan(const Walk& walk, bool inclusive) const {
    Part values = read(walk);
    values.scan();
    exchange.looked_back[walk.stage].wait(walk.round);
    const State carry = Op::combine(exchange.before[walk.stage], exchange.bases[walk.stage][W::index()]);
    typename Op::Result* const row = out.data + walk.row * out.row_stride;
    values.store(row + begin_of(walk) * out.col_stride, out.col_stride, plan.packs_out, carry, inclusive);
  }

  GP_DEVICE void run(bool inclusive) const {
    const int count = plan.count();
    Walk filled = plan.begin(), summed = filled, scanned = filled;
    int unfilled = count;
    const auto fill_next = [&] {
      if (unfilled > 0) {
        fill(filled);
        plan.advance(filled);
        --unfilled;
      }
      end_copy_group();  // empty past the end, so that the groups can still be counted
    };
#pragma unroll 1
    for (int i = 0; i < kOnTheWay; ++i) fill_next();
    for (int step = 0; step < count + plan.ahead; ++step) {
      fill_next();  // into the stage that was scanned in the step before
      wait_for_copies<kOnTheWay>();
      if (step < count) {
        sum(summed);
        plan.advance(summed);
      }
      if (step >= plan.ahead) {
        scan(scanned, inclusive);
        plan.advance(scanned);
      }
    }
  }
};

template <int kWarp, typename Op>
GP_KERNEL __launch_bounds__(kPipelinedMostThreads, 1)
    pipelined_kernel(View2<const typename Op::Input> in, View2<typename Op::Result> out,
                     Published<typename Op::State> published, Plan plan, bool inclusive) {
  using W = Warp<kWarp>;
  W::require();
  __shared__ Exchange<typename Op::State> exchange;
  extern __shared__ RingBytes ring[];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < plan.stages; ++stage) {
      exchange.totals[stage].init(plan.warps);
      exchange.published[stage].init(1);
      exchange.looked_back[stage].init(1);
    }
  }
  __syncthreads();  // the signals are ready; from here on each warp waits for what it needs alone
  if (W::index() == plan.warps) {
    publish_tiles<kWarp, Op>(plan, published, exchange);
  } else if (W::index() == plan.warps + 1) {
    look_back<kWarp, Op>(plan, published, exchange);
  } else {
    auto* const slots = reinterpret_cast<typename Scanner<kWarp, Op>::Items*>(ring);
    const int mine = W::index() * kPipelinedStrips * kWarp + W::lane();
    const auto part = std::uint32_t(W::index() * Scanner<kWarp, Op>::Part::kLength);
    Scanner<kWarp, Op>{in, out, plan, exchange, slots + mine, part}.run(inclusive);
  }
}

Pipeline pipeline_of(const Call& call) {
  const int shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, call.device);
  for (const PipelinePolicy& policy : kPipelines) {
    if (policy.target == kTarget && policy.shared_bytes <= shared) return policy.shape;
  }
  return {};  // every target has a line for any device
}

void pipelined_with(const Call& original, const Pipeline& shape) {
  const Call call = as_sum(original);
  visit(call, PipelinedOps{}, [&]<int kWarp, typename Op>() {
    using State = typename Op::State;
    using Part = WarpPart<kWarp, Op, kPipelinedStrips>;
    const index_t length = index_t(shape.warps) * Part::kLength;
    const index_t tiles = (call.cols + length - 1) / length, items = call.rows * tiles;
    if (items == 0) return;
    if (items > kMaxBlocks) {
      throw Error(ErrorKind::kValue, std::string(call.name) + " takes up to 2^31 tiles of " + std::to_string(length) +
                                         " elements in all; use reduce_scan");
    }
    const auto in = call.input<const typename Op::Input>();
    const auto out = call.output<typename Op::Result>();
    Grid grid{items, (shape.warps + kServiceWarps) * kWarp};
    grid.shared_bytes =
        std::size_t(shape.stages()) * shape.warps * Part::kStrips * kWarp * sizeof(typename Part::Items);
    static Residency residency;
    grid.blocks = std::min(items, residency.blocks(pipelined_kernel<kWarp, Op>, call, grid.threads, grid.shared_bytes));
    const Plan plan{shape.warps,
                    shape.ahead,
                    shape.stages(),
                    std::uint32_t(length),
                    int(tiles),
                    int(call.cols / length),
                    int(items),
                    int(grid.blocks / tiles),
                    int(grid.blocks % tiles),
                    packable_rows(in),
                    packable_rows(out)};
    const Workspace workspace(call, 0, std::size_t(items) * Published<State>::kWords);
    launch_resident(pipelined_kernel<kWarp, Op>, call, grid, in, out,
                    Published<State>{workspace.tagged(), workspace.tag()}, plan, is_inclusive(original));
  });
}

void pipelined(const Call& call) { pipelined_with(call, pipeline_of(call)); }

}  // namespace gp::scan
