// A pipeline of tiles in every block of one launch of resident blocks.
//
// A block takes every gridDim.x-th tile. Its tiles stream through a ring of stages in shared memory: copies are on
// their way for some, the totals of the next `ahead` are published already, and the oldest is finished. So by the time
// a tile is finished, its look-back has long been done, and memory is never waited for. One warp publishes the totals,
// one looks back: it reads the total of every tile once, in an order that does not depend on the number of blocks or on
// timing. The other warps are workers:
//
//   fill(walk)    begins the copies of the warp's part of a tile into the stage of the walk
//   sum(walk)     leaves the part's total in exchange.bases and arrives at exchange.totals, by lane 0
//   finish(walk)  waits for exchange.looked_back, and writes; every lane is done with the stage when it returns
//
// A worker's parts of the ring are its own, so no barrier guards them.
#pragma once

#include "async.cuh"
#include "launch.cuh"
#include "lookback.cuh"

namespace gp {

struct Pipeline {
  int warps;  // of workers
  int ahead;  // how many tiles the totals are ahead of the last step
};
struct PipelinePolicy {
  Target target;
  int shared_bytes;     // what a block may have, for this line of the table
  index_t most_length;  // of a row, likewise
  Pipeline shape;
};

// The first line of the table that fits the device and the rows. Every target has a line for any device.
template <std::size_t kLines>
Pipeline pipeline_for(const Call& call, const PipelinePolicy (&table)[kLines]) {
  const int shared = most_shared_bytes(call.device);
  for (const PipelinePolicy& line : table) {
    if (line.target == kTarget && line.shared_bytes <= shared && call.cols <= line.most_length) return line.shape;
  }
  return {};
}

inline constexpr int kMostWorkers = 24, kMostStages = 16, kServiceWarps = 2;
// Lanes of the narrowest warp: with wider ones there are fewer warps in as many threads.
inline constexpr int kPipelineThreads = (kMostWorkers + kServiceWarps) * 32;

using RingBytes = Pack<unsigned char, kVectorBytes>;

// Where a block is in its tiles.
struct Walk {
  int row, tile;
  int stage = 0;
  std::uint32_t round = 0;  // how often the ring has gone round
};

// Tiles of `length` elements. kernel and host: which tiles a block takes, and where they stay.
struct Plan {
  int warps, ahead, stages;
  std::uint32_t length;
  int tiles, whole_tiles, items;          // of a row, of those the ones that are no shorter; of all rows
  int stride_rows = 0, stride_tiles = 0;  // both together: from one tile of a block to its next

  GP_DEVICE int count() const { return (items - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x); }
  GP_DEVICE Walk begin() const { return {int(blockIdx.x) / tiles, int(blockIdx.x) % tiles}; }
  GP_DEVICE bool is_whole(const Walk& walk) const { return walk.tile < whole_tiles; }
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
  void deal_to(index_t blocks) {
    stride_rows = int(blocks / tiles);
    stride_tiles = int(blocks % tiles);
  }
};

// A plan for one block; deal_to() makes it one for many.
inline Plan plan_tiles(const Call& call, const Pipeline& shape, int on_the_way, index_t length) {
  const index_t tiles = ceil_div(call.cols, length), items = call.rows * tiles;
  if (items > kMaxBlocks) {
    fail(ErrorKind::kValue, call.name, " takes up to 2^31 tiles of ", length, " elements in all");
  }
  return {shape.warps,
          shape.ahead,
          on_the_way + shape.ahead + 1,
          std::uint32_t(length),
          int(tiles),
          int(call.cols / length),
          int(items)};
}

// What the warps of a block tell each other about the tile in each stage. A stage serves its next tile only after all
// workers have finished the one before, so nobody is ever more than one round behind.
template <typename State>
struct Exchange {
  State bases[kMostStages][kMostWorkers];  // each worker's total; then what is before the worker's part in the tile
  State before[kMostStages];               // what is before the tile
  Signal totals[kMostStages], published[kMostStages], looked_back[kMostStages];
};

// What is before the calling worker's part of the tile, in the row. Read by the lane whose next total says that it may
// be written again.
template <int kWarp, typename Op>
GP_DEVICE typename Op::State before_part(Exchange<typename Op::State>& exchange, const Walk& walk) {
  using W = Warp<kWarp>;
  auto before = Op::identity();
  if (W::lane() == 0) {
    exchange.looked_back[walk.stage].wait(walk.round);
    exchange.published[walk.stage].wait(walk.round);
    before = Op::combine(exchange.before[walk.stage], exchange.bases[walk.stage][W::index()]);
  }
  return W::shuffle(before, 0);
}

// The launch's tag for a whole warp, one of the two that are not workers.
template <int kWarp>
GP_DEVICE std::uint32_t tag_of_service(const LaunchTag& launch, int warp) {
  using W = Warp<kWarp>;
  return W::shuffle(W::lane() == 0 ? take_tag(launch, warp, kServiceWarps) : 0u, 0);
}

// Combines the warps' totals of each tile and publishes it.
template <int kWarp, typename Op>
GP_DEVICE void publish_tiles(const Plan& plan, Published<typename Op::State> published,
                             Exchange<typename Op::State>& exchange) {
  using W = Warp<kWarp>;
  published.tag = tag_of_service<kWarp>(published.launch, 0);
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
    exchange.published[walk.stage].arrive();  // each lane for what it wrote
  }
}

// Combines the tiles of the row before each tile.
template <int kWarp, typename Op>
GP_DEVICE void look_back(const Plan& plan, Published<typename Op::State> published,
                         Exchange<typename Op::State>& exchange) {
  using State = typename Op::State;
  published.tag = tag_of_service<kWarp>(published.launch, 1);
  Walk walk = plan.begin();
  // At least the multiprocessors of a device and a group: so many are left when a block comes to its next tile.
  using Fold = RunningFold<kWarp, Op, 192>;
  for (int left = plan.count(); left > 0;) {
    const int row = walk.row;
    Fold fold(published, index_t(row) * plan.tiles, plan.tiles);
    for (; left > 0 && walk.row == row; --left, plan.advance(walk)) {
      const State before = fold.through(walk.tile);
      fold.load();
      exchange.totals[walk.stage].wait(walk.round);  // every warp has left the tile that had the stage before
      if (Warp<kWarp>::lane() == 0) {
        exchange.before[walk.stage] = before;
        exchange.looked_back[walk.stage].arrive();
      }
    }
  }
}

// What a worker's warp does, from the first tile to the last. kOnTheWay tiles have their copies begun and are not
// waited for yet.
template <int kOnTheWay, typename Worker>
GP_DEVICE void run_worker(const Plan& plan, Worker worker) {
  const int count = plan.count();
  Walk filled = plan.begin(), summed = filled, finished = filled;
  int unfilled = count;
  const auto fill_next = [&] {
    if (unfilled > 0) {
      worker.fill(filled);
      plan.advance(filled);
      --unfilled;
    }
    end_copy_group();  // empty past the end, so that the groups can still be counted
  };
#pragma unroll 1
  for (int i = 0; i < kOnTheWay; ++i) fill_next();
  for (int step = 0; step < count + plan.ahead; ++step) {
    fill_next();  // into the stage that was finished in the step before
    wait_for_copies<kOnTheWay>();
    if (step < count) {
      worker.sum(summed);
      plan.advance(summed);
    }
    if (step >= plan.ahead) {
      worker.finish(finished);
      plan.advance(finished);
    }
  }
}

// The whole of a kernel, after the check of the width.
template <int kWarp, typename Op, int kOnTheWay, typename Worker>
GP_DEVICE void run_pipeline(const Plan& plan, const Published<typename Op::State>& published,
                            Exchange<typename Op::State>& exchange, Worker worker, Overlap overlap) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < plan.stages; ++stage) {
      exchange.totals[stage].init(plan.warps);
      exchange.published[stage].init(Warp<kWarp>::kLanes);
      exchange.looked_back[stage].init(1);
    }
  }
  __syncthreads();  // the signals are ready; from here on each warp waits for what it needs alone
  overlap.admit_next_kernel();
  overlap.await_kernels_ahead();
  const int warp = Warp<kWarp>::index();
  if (warp == plan.warps) return publish_tiles<kWarp, Op>(plan, published, exchange);
  if (warp == plan.warps + 1) return look_back<kWarp, Op>(plan, published, exchange);
  run_worker<kOnTheWay>(plan, worker);
}

}  // namespace gp
