// scan.hierarchical: scans of warps by shuffles, of a block from its warps, of the whole from its blocks.
// 512 elements a block, two neighbours a thread. Any length through levels.cuh, which scans the blocks' totals in the
// same way.
#include "levels.cuh"

namespace gp::scan {

template <int kWarp>
struct WarpScans {
  static constexpr int kThreads = 256;
  static constexpr int kItems = 2 * kThreads;
  template <typename Op>
  using Storage = typename BlockScan<kWarp, kThreads, Op>::Storage;

  template <typename Op, typename Load, typename Store>
  static GP_DEVICE typename Op::State scan(Load load, Store store, Storage<Op>& storage) {
    using State = typename Op::State;
    const int left = 2 * threadIdx.x, right = left + 1;
    const State first = load(left), both = Op::combine(first, load(right));
    State total;
    const State before = BlockScan<kWarp, kThreads, Op>::exclusive_scan(both, storage, &total);
    const State after_first = Op::combine(before, first);
    store(left, before, after_first);
    store(right, after_first, Op::combine(before, both));
    return total;
  }
};

void hierarchical(const Call& call) { run_levels<WarpScans>(call); }

}  // namespace gp::scan
