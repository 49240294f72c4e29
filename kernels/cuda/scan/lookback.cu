// scan.lookback: one pass; each tile looks back over the tiles before it (Merrill and Garland, "Single-pass parallel
// prefix scan with decoupled look-back", 2016). The default for integers. A tile publishes its aggregate (A) at once,
// and its inclusive prefix (P) when it knows it. To know it, the first warp reads the tiles before, a window at a time,
// until one has published P. Reads and writes each element once. How far a tile looks depends on timing, so float
// results are not repeatable bit for bit; integers are exact.
#include "tile.cuh"

namespace gp::scan {

enum Status : std::uint32_t { kNothing = 0, kAggregate = 1, kPrefix = 2 };

// What each tile of each row publishes; the payload is written before the status is released.
template <typename State>
struct Published {
  State* aggregate;
  State* prefix;
  std::uint32_t* status;
};

// The combination of all tiles of the row before `tile`, which is item `item` of all rows. By the first warp; every
// lane holds it.
template <int kWarp, typename Op>
GP_DEVICE typename Op::State look_back(const Published<typename Op::State>& published, index_t item, index_t tile) {
  using W = Warp<kWarp>;
  using State = typename Op::State;
  State before = Op::identity();
  for (index_t done = 0; done < tile; done += kWarp) {
    // The last lane reads the nearest tile, so that the order of the lanes is the order of the tiles.
    const index_t distance = done + kWarp - W::lane();
    const bool exists = distance <= tile;
    std::uint32_t status = kAggregate;
    if (exists) wait_until([&] { return (status = load_acquire(&published.status[item - distance])) != kNothing; });
    State state = Op::identity();
    if (exists) state = status == kPrefix ? published.prefix[item - distance] : published.aggregate[item - distance];
    const lane_mask_t prefixes = W::ballot(exists && status == kPrefix);
    // Lanes before the nearest prefix are part of it already.
    const int nearest = prefixes == 0 ? -1 : 63 - __clzll((long long)prefixes);
    if (W::lane() < nearest) state = Op::identity();
    before = Op::combine(W::template all_reduce<Op>(state), before);
    if (nearest >= 0) break;  // the same in every lane
  }
  return before;
}

template <int kWarp, typename Op>
GP_KERNEL lookback_kernel(View2<const typename Op::Input> in, View2<typename Op::Result> out,
                          Published<typename Op::State> published, std::uint32_t* ticket, index_t tiles,
                          bool inclusive) {
  using W = Warp<kWarp>;
  W::require();
  using State = typename Op::State;
  using Scan = BlockScan<kWarp, kTileThreads, Op>;
  __shared__ typename Scan::Storage storage;
  __shared__ std::uint32_t taken;
  __shared__ State carry;
  const int thread = threadIdx.x;
  for (;;) {
    // Tiles are taken in order, so the tiles that this one waits for are running or done, whatever the order of the
    // blocks.
    if (thread == 0) taken = fetch_add(ticket, 1u);
    __syncthreads();  // the ticket is there
    const index_t item = taken;
    if (item >= in.rows * tiles) return;  // the same in every thread
    const index_t row = item / tiles, tile = item % tiles;
    Tile<Op> values;
    values.load(in, row, tile * kTile);
    State total;
    const State within = Scan::exclusive_scan(values.total, storage, &total);
    if (W::index() == 0) {
      if (thread == 0) {
        (tile == 0 ? published.prefix : published.aggregate)[item] = total;
        store_release(&published.status[item], std::uint32_t(tile == 0 ? kPrefix : kAggregate));
      }
      const State before = look_back<kWarp, Op>(published, item, tile);
      if (thread == 0) {
        carry = before;
        if (tile > 0) {
          published.prefix[item] = Op::combine(before, total);
          store_release(&published.status[item], std::uint32_t(kPrefix));
        }
      }
    }
    __syncthreads();  // the carry is there
    values.store(out, row, tile * kTile, Op::combine(carry, within), inclusive);
    __syncthreads();  // ticket, storage and carry are read by all before the next tile reuses them
  }
}

void lookback(const Call& original) {
  const Call call = canonical(original);
  visit(call, EveryOp{}, [&]<int kWarp, typename Op>() {
    using State = typename Op::State;
    const index_t tiles = (call.cols + kTile - 1) / kTile, items = call.rows * tiles;
    if (items == 0) return;
    if (items >= index_t(0xffffffffu) - kMaxBlocks) {
      throw Error(ErrorKind::kValue, std::string(call.name) + " takes up to 2^31 tiles of " + std::to_string(kTile) +
                                         " elements in all; use reduce_scan");
    }
    // States first: they are the wider type. One word of status a tile, and the ticket.
    const std::size_t states = std::size_t(items) * sizeof(State);
    const std::size_t words = (std::size_t(items) + 1) * sizeof(std::uint32_t);
    const Workspace workspace(call, 2 * states + words);
    Published<State> published;
    published.aggregate = workspace.data<State>();
    published.prefix = published.aggregate + items;
    published.status = reinterpret_cast<std::uint32_t*>(published.prefix + items);
    check(cudaMemsetAsync(published.status, 0, words, call.stream), "clearing the tiles' status");
    const index_t resident = resident_blocks(lookback_kernel<kWarp, Op>, call, kTileThreads);
    Grid grid = blocks_for(items, kTileThreads);
    if (grid.blocks > resident) grid.blocks = resident;  // more would only take tickets from each other
    launch(lookback_kernel<kWarp, Op>, call, grid, call.input<const typename Op::Input>(),
           call.output<typename Op::Result>(), published, published.status + items, tiles, is_inclusive(original));
  });
}

}  // namespace gp::scan
