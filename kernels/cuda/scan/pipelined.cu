// scan.pipelined: one launch of blocks that all run at once, a pipeline of tiles in each (gpuport/pipeline.cuh). The
// default for long rows. The aggregates of the tiles are folded in a fixed order, so results do not depend on the
// number of blocks or on timing; floats repeat bit for bit. Reads and writes each element once. A row that is not
// aligned to 16 bytes, or not contiguous, goes through the ring element by element.
#include <gpuport/pipeline.cuh>

#include "strips.cuh"

namespace gp::scan {

// Of 4 and 8 bytes an element: what the ring copies asynchronously.
using PipelinedOps = TypeList<Sum<std::int32_t, std::int64_t>, Sum<std::uint32_t, std::int64_t>,
                              Sum<std::int64_t, std::int64_t>, Sum<float, float>, Sum<double, double>>;

// What a lane has of a tile, how many tiles have their copies begun, and the blocks that go with it. H200, where the
// ring fills the shared memory: states of 4 bytes take 3 % less time at 2^24 in large parts of few warps, which states
// of 8 bytes have no registers for, and from 2^22 on 2 % less in eight tiles of 14 warps than in six of 16; those of 8
// bytes in 24 warps of small parts with three tiles on the way 1 % less than with four. The other GPUs are not
// measured: the ring fills what they have. AMD has no asynchronous copies that this code uses, so what hides latency
// there is waves, and a short ring leaves room for several blocks. CPU: a small block, because each thread is a
// context.
template <typename State, int kBytes = sizeof(State)>
struct Shape {
  static constexpr int kStrips = 2, kOnTheWay = 3;
  static constexpr PipelinePolicy kPolicies[] = {
      {Target::kCuda, 227 << 10, kAnyLength, {24, 5}}, {Target::kCuda, 163 << 10, kAnyLength, {20, 3}},
      {Target::kCuda, 99 << 10, kAnyLength, {12, 3}},  {Target::kCuda, 0, kAnyLength, {8, 2}},
      {Target::kAmd, 0, kAnyLength, {4, 1}},           {Target::kCpu, 0, kAnyLength, {2, 1}},
  };
};
template <typename State>
struct Shape<State, 4> {
  static constexpr int kStrips = 4, kOnTheWay = 1;
  static constexpr PipelinePolicy kPolicies[] = {
      {Target::kCuda, 227 << 10, kAnyLength, {14, 6}}, {Target::kCuda, 163 << 10, kAnyLength, {16, 2}},
      {Target::kCuda, 99 << 10, kAnyLength, {8, 3}},   {Target::kCuda, 0, kAnyLength, {4, 3}},
      {Target::kAmd, 0, kAnyLength, {4, 1}},           {Target::kCpu, 0, kAnyLength, {2, 1}},
  };
};

template <int kWarp, typename Op>
struct Scanner {
  using W = Warp<kWarp>;
  using State = typename Op::State;
  using Part = WarpPart<kWarp, Op, Shape<State>::kStrips>;
  using Items = typename Part::Items;
  const View2<const typename Op::Input>& in;
  const View2<typename Op::Result>& out;
  bool packs_in, packs_out;  // rows may be read, written by packs
  bool inclusive;
  const Plan& plan;
  Exchange<State>& exchange;
  Items* ring;         // this lane's part of the first stage
  std::uint32_t part;  // where the warp's part begins in a tile

  GP_DEVICE Items* slice(const Walk& walk) const { return ring + walk.stage * (plan.warps * Part::kStrips * kWarp); }
  GP_DEVICE index_t begin_of(const Walk& walk) const {
    return index_t(std::uint64_t(std::uint32_t(walk.tile)) * plan.length + part);
  }
  GP_DEVICE int left_of(const Walk& walk) const {
    return plan.is_whole(walk) ? Part::kLength : Part::left_of(in.cols, begin_of(walk));
  }

  GP_DEVICE void fill(const Walk& walk) const {
    const index_t begin = begin_of(walk);
    const typename Op::Input* const row = in.data + walk.row * in.row_stride;
    Items* const slots = slice(walk);
    if (packs_in && plan.is_whole(walk)) {
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
    Part values{{}, left_of(walk)};
    const Items* const slots = slice(walk);
#pragma unroll
    for (int s = 0; s < Part::kStrips; ++s) values.items[s] = slots[s * kWarp];
    values.fill();
    return values;
  }

  // Once scanned, a part needs only the carry to be added, if the ring can hold what it has become.
  static constexpr bool kScansInRing = std::is_same_v<typename Op::Input, State>;

  GP_DEVICE void sum(const Walk& walk) const {
    Part values = read(walk);
    State total;
    if constexpr (kScansInRing) {
      total = values.scan();
      values.scan_items(inclusive);
      Items* const slots = slice(walk);
#pragma unroll
      for (int s = 0; s < Part::kStrips; ++s) slots[s * kWarp] = values.items[s];
    } else {
      total = values.total();
    }
    if (W::lane() == 0) {
      exchange.bases[walk.stage][W::index()] = total;
      exchange.totals[walk.stage].arrive();
    }
  }

  GP_DEVICE void finish(const Walk& walk) const {
    Part values = read(walk);
    typename Op::Result* const part_of_row = out.data + walk.row * out.row_stride + begin_of(walk) * out.col_stride;
    if constexpr (kScansInRing) {
      values.store_scanned(part_of_row, out.col_stride, packs_out, before_part<kWarp, Op>(exchange, walk));
    } else {
      values.scan();
      const State carry = before_part<kWarp, Op>(exchange, walk);
      values.store(part_of_row, out.col_stride, packs_out, carry, inclusive);
    }
  }
};

template <int kWarp, typename Op>
GP_KERNEL __launch_bounds__(kPipelineThreads, 1)
    pipelined_kernel(View2<const typename Op::Input> in, View2<typename Op::Result> out, bool packs_in, bool packs_out,
                     Published<typename Op::State> published, Plan plan, bool inclusive, Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  using Worker = Scanner<kWarp, Op>;
  __shared__ Exchange<typename Op::State> exchange;
  extern __shared__ RingBytes ring[];
  const Worker worker{
      in,
      out,
      packs_in,
      packs_out,
      inclusive,
      plan,
      exchange,
      reinterpret_cast<typename Worker::Items*>(ring) + W::index() * Worker::Part::kStrips * kWarp + W::lane(),
      std::uint32_t(W::index() * Worker::Part::kLength)};
  run_pipeline<kWarp, Op, Shape<typename Op::State>::kOnTheWay>(plan, published, exchange, worker, overlap);
}

void pipelined(const Call& original) {
  const Call call = as_sum(original);
  visit(call, PipelinedOps{}, [&]<int kWarp, typename Op>() {
    using State = typename Op::State;
    using Part = typename Scanner<kWarp, Op>::Part;
    const Pipeline shape = pipeline_for(call, Shape<State>::kPolicies);
    Plan plan = plan_tiles(call, shape, Shape<State>::kOnTheWay, index_t(shape.warps) * Part::kLength);
    if (plan.items == 0) return;
    Grid grid{plan.items, (shape.warps + kServiceWarps) * kWarp};
    grid.shared_bytes = std::size_t(plan.stages) * shape.warps * Part::kStrips * kWarp * sizeof(typename Part::Items);
    const index_t fit = resident_blocks(pipelined_kernel<kWarp, Op>, call, grid.threads, grid.shared_bytes);
    grid.blocks = smaller(grid.blocks, fit);
    plan.deal_to(grid.blocks);
    const auto in = call.input<const typename Op::Input>();
    const auto out = call.output<typename Op::Result>();
    const Workspace workspace(call, 0, std::size_t(plan.items) * Published<State>::kWords);
    launch_resident(pipelined_kernel<kWarp, Op>, call, grid, in, out, packable_rows(in), packable_rows(out),
                    Published<State>{workspace.tagged(), workspace.tag()}, plan, is_inclusive(original), Overlap{});
  });
}

}  // namespace gp::scan
