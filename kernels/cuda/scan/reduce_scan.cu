// scan.reduce_scan: two launches in a fixed order.
// A row is cut into stretches of whole tiles. The first launch folds each stretch to its total; in the second, the
// block of a stretch folds the totals before it, then scans its own tiles with that carry. Reads each element twice,
// writes it once. Which additions are made depends on the length alone, so results repeat bit for bit. One stretch
// needs the second launch only.
#include "tile.cuh"

namespace gp::scan {

constexpr index_t kStretches = 1024;  // of a row at most: their totals are folded by every block, from L2
constexpr index_t kStretchesOfAllRows = 8192;

template <int kWarp, typename Op>
GP_KERNEL stretch_totals_kernel(View2<const typename Op::Input> in, View2<typename Op::State> totals, index_t stretch,
                                Op op) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using State = typename Op::State;
  using Scan = BlockScan<kWarp, kTileThreads, Op>;
  __shared__ typename Scan::Storage storage;
  for (index_t item = blockIdx.x; item < in.rows * totals.cols; item += gridDim.x) {
    const index_t row = item / totals.cols, part = item % totals.cols, begin = part * stretch;
    const index_t end = begin + stretch < in.cols ? begin + stretch : in.cols;
    State carry = Op::identity();
    for (index_t base = begin; base < end; base += kTile) {
      Tile<Op> tile;
      tile.load(op, in, row, base);
      State total;
      (void)Scan::exclusive_scan(tile.total, storage, &total);
      carry = Op::combine(carry, total);
      __syncthreads();  // the storage is read by all before the next tile reuses it
    }
    if (threadIdx.x == 0) totals(row, part) = carry;
  }
}

template <int kWarp, typename Op>
GP_KERNEL reduce_scan_kernel(View2<const typename Op::Input> in, View2<typename Op::Result> out,
                             View2<typename Op::State> totals, index_t stretch, bool inclusive, Op op) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using State = typename Op::State;
  using Scan = BlockScan<kWarp, kTileThreads, Op>;
  __shared__ typename Scan::Storage storage;
  for (index_t item = blockIdx.x; item < in.rows * totals.cols; item += gridDim.x) {
    const index_t row = item / totals.cols, part = item % totals.cols, begin = part * stretch;
    const index_t end = begin + stretch < in.cols ? begin + stretch : in.cols;
    State carry = Op::identity();
    for (index_t first = 0; first < part; first += kTileThreads) {
      const index_t index = first + threadIdx.x;
      State total;
      (void)Scan::exclusive_scan(index < part ? totals(row, index) : Op::identity(), storage, &total);
      carry = Op::combine(carry, total);
      __syncthreads();  // as above
    }
    for (index_t base = begin; base < end; base += kTile) {
      Tile<Op> tile;
      tile.load(op, in, row, base);
      State total;
      const State before = Scan::exclusive_scan(tile.total, storage, &total);
      tile.store(out, row, base, Op::combine(carry, before), inclusive);
      carry = Op::combine(carry, total);
      __syncthreads();  // as above
    }
  }
}

void reduce_scan(const Call& original) {
  const Call call = canonical(as_sum(original));
  visit(call, EveryOp{}, [&]<int kWarp, typename Op>() {
    using State = typename Op::State;
    const auto in = call.input<const typename Op::Input>();
    const index_t tiles = ceil_div(call.cols, kTile);
    const index_t most = larger(1, smaller(kStretches, kStretchesOfAllRows / call.rows));
    const index_t tiles_each = larger(1, ceil_div(tiles, most));
    const index_t stretches = larger(1, ceil_div(tiles, tiles_each));
    const index_t stretch = tiles_each * kTile;
    const Workspace workspace(call, std::size_t(call.rows * stretches) * sizeof(State));
    const View2<State> totals{workspace.data<State>(), call.rows, stretches, stretches, 1};
    const Grid grid = blocks_for(call.rows * stretches, kTileThreads);
    const Op op = operator_of<Op>(original);
    if (stretches > 1) launch(stretch_totals_kernel<kWarp, Op>, call, grid, in, totals, stretch, op);
    launch(reduce_scan_kernel<kWarp, Op>, call, grid, in, call.output<typename Op::Result>(), totals, stretch,
           is_inclusive(original), op);
  });
}

}  // namespace gp::scan
