// Long rows in tiles that stay in shared memory from their first reading until they are written.
//
// A tile is kTilePacks packs of each of a block's workers. A worker copies its own packs into a ring of stages, and
// nobody else reads them: once its copies have arrived there is nothing more to wait for. The packs of a warp are
// neighbours: from one pack of a lane to its next is a constant, which addresses have for nothing.
#pragma once

#include <gpuport/lookback.cuh>

#include "row_packs.cuh"

namespace gp::softmax {

inline constexpr int kTilePacks = 4;

struct RingShape {
  int workers;  // threads
  int stages;
};

// Which tiles rows have. The elements of the edges belong to the first tile and to the last.
struct TileShape {
  int packs;  // of a tile
  int tiles;  // of a row
};
inline constexpr index_t kMostRowPacks = 1 << 30;  // counted in 32 bits

template <int kWarp, typename T, bool kEdges = true>
struct TileRing {
  using A = Accum<T>;
  using Packs = RowPacks<T, kTilePacks>;
  using Span = RowSpan<T, kEdges>;
  static constexpr int kItems = kPackItems<T>;
  PackOf<T>* const packs;
  const TileShape shape;
  const int thread, first;  // of the thread's packs in a tile

  GP_DEVICE TileRing(PackOf<T>* packs, TileShape shape)
      : packs(packs),
        shape(shape),
        thread(threadIdx.x),
        first(Warp<kWarp>::index() * (kTilePacks * kWarp) + Warp<kWarp>::lane()) {}

  GP_DEVICE Span span_of(const Rows<T>& rows, index_t row) const { return {rows, row}; }
  GP_DEVICE int pack_of(int tile, int k) const { return tile * shape.packs + first + k * kWarp; }
  GP_DEVICE KeptPack<T> staged(int stage_index, int k) const {
    KeptPack<T> pack;
    pack.load(stage(stage_index) + k * kWarp);
    return pack;
  }
  GP_DEVICE PackOf<T>* stage(int index) const { return packs + index * shape.packs + first; }
  // The row's packs from the thread's first of the tile on.
  GP_DEVICE int packs_left(const Span& span, int tile) const { return int(span.packs) - pack_of(tile, 0); }

  // The column of the thread's element of the edges, -1 where it has none: among those of the first tile, of the last.
  GP_DEVICE index_t edge_col(const Span& span, bool of_first, bool of_last) const {
    if constexpr (!kEdges) return -1;
    const bool has = thread < span.head ? of_first : thread < span.edges() && of_last;
    return has ? span.col_of_edge(thread) : -1;
  }
  GP_DEVICE index_t edge_col(const Span& span, int tile) const {
    return edge_col(span, tile == 0, tile == shape.tiles - 1);
  }
  GP_DEVICE A edge(const Span& span, index_t col) const { return col < 0 ? -infinity<A>() : A(span.start[col]); }

  // Calls f(k) for the thread's packs of a tile that the row has. Nearly all tiles are whole: without a condition on
  // each pack they share one address, and the work of one hides what another waits for.
  template <typename F>
  static GP_DEVICE void for_packs(int left, F f) {
    if (left > (kTilePacks - 1) * kWarp) {
#pragma unroll
      for (int k = 0; k < kTilePacks; ++k) f(k);
    } else {
#pragma unroll 1
      for (int k = 0; k * kWarp < left; ++k) f(k);
    }
  }

  GP_DEVICE void fetch(const Span& span, int tile, int stage_index, CachePolicy policy) const {
    PackOf<T>* const target = stage(stage_index);
    const auto* const source = reinterpret_cast<const PackOf<T>*>(span.start + span.head) + pack_of(tile, 0);
    for_packs(packs_left(span, tile), [&](int k) { copy_async(target + k * kWarp, source + k * kWarp, policy); });
  }

  // The thread's elements of a tile, from its stage. What the row does not have is whatever the stage holds, until it
  // is replaced: a condition on each load would have them wait for each other.
  GP_DEVICE Packs read(const Span& span, int tile, int stage_index) const {
    const PackOf<T>* const source = stage(stage_index);
    const int left = packs_left(span, tile);
    Packs values;
#pragma unroll
    for (int k = 0; k < kTilePacks; ++k) values.kept[k].load(source + k * kWarp);
    if ((kTilePacks - 1) * kWarp >= left) {
#pragma unroll
      for (int k = 0; k < kTilePacks; ++k) {
        if (k * kWarp >= left) values.kept[k].set(span.no_pack());
      }
    }
    return values;
  }

  // Writes the thread's packs of a tile from its stage.
  template <typename Result>
  GP_DEVICE void write_staged(const Rows<T>& rows, index_t row, const Span& span, int tile, int stage_index,
                              const Result& result) const {
    if (!writes_packs(rows, row, span)) return write_singly(rows, row, span, tile, result);
    T* const target = &rows.out(row, span.col_of(pack_of(tile, 0)));
    for_packs(packs_left(span, tile),
              [&](int k) { store_pack(target + k * kWarp * kItems, results_of(staged(stage_index, k), result)); });
  }
  // The same from registers, which a run-time index would put in memory.
  template <typename Result>
  GP_DEVICE void write_held(const Rows<T>& rows, index_t row, const Span& span, int tile, const Packs& held,
                            const Result& result) const {
    if (!writes_packs(rows, row, span)) return write_singly(rows, row, span, tile, result);
    T* const target = &rows.out(row, span.col_of(pack_of(tile, 0)));
    const int left = packs_left(span, tile);
#pragma unroll
    for (int k = 0; k < kTilePacks; ++k) {
      const PackOf<T> pack = results_of(held.kept[k], result);
      if (k * kWarp < left) store_pack(target + k * kWarp * kItems, pack);
    }
  }

 private:
  template <typename Result>
  static GP_DEVICE PackOf<T> results_of(const KeptPack<T>& kept, const Result& result) {
    A values[kItems];
    kept.widen(values);
    apply(result, values);
    return KeptPack<T>::narrow(values);
  }
  template <typename Result>
  GP_DEVICE void write_singly(const Rows<T>& rows, index_t row, const Span& span, int tile,
                              const Result& result) const {
    const int left = packs_left(span, tile);
#pragma unroll 1
    for (int k = 0; k < kTilePacks; ++k) {
      if (k * kWarp < left) write_elements(rows, row, span, pack_of(tile, k), result);
    }
  }
};

// Calls f with what makes results of the elements of a row.
template <typename T, typename F>
GP_DEVICE void with_result(const Rows<T>& rows, const MaxSum<Accum<T>>& state, F f) {
  if (rows.op == OpCode::kLogSoftmax) {
    f(LogProbability<T>(state));
  } else {
    f(Probability<T>(state));
  }
}

// The states in `count` slots from `first`, merged by one warp; every lane holds the result. A lane asks for several at
// once, waits for one that is missing, and asks again for all that are: one after the other they would take a trip to
// the L2 cache each after the last of them is there, and all the time for all they would get in memory's way.
template <int kWarp, typename A>
GP_DEVICE MaxSum<A> gather(const Published<MaxSum<A>>& published, index_t first, int count) {
  using W = Warp<kWarp>;
  using Slots = Published<MaxSum<A>>;
  constexpr int kAtOnce = 5;  // enough for a block on each of 160 multiprocessors
  auto state = MaxSum<A>::empty();
  for (int begin = W::lane(); begin < count; begin += kAtOnce * kWarp) {
    typename Slots::Slot contents[kAtOnce] = {};
    const auto is_here = [&](int i) { return begin + i * kWarp >= count || published.is_complete(contents[i]); };
    const auto ask = [&](int i) {
      if (!is_here(i)) contents[i] = Slots::load(published.at(first + begin + i * kWarp));
    };
    const auto ask_all = [&] {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) ask(i);
    };
    ask_all();
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (is_here(i)) continue;
      wait_until([&] {
        ask(i);
        return is_here(i);
      });
      ask_all();
    }
    MaxSum<A> states[kAtOnce];
    A max = state.max;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      states[i] = begin + i * kWarp < count ? Slots::value(contents[i]) : MaxSum<A>::empty();
      max = Greatest<A>::combine(max, states[i].max);
    }
    const A pivot = pivot_of(max);
    state = {max, state.sum * weight_in_sum(state.max - pivot)};
#pragma unroll
    for (const MaxSum<A>& of_slot : states) state.sum += of_slot.sum * weight_in_sum(of_slot.max - pivot);
  }
  W::sync();  // the lanes have waited for different slots
  return merge_lanes<W>(state);
}

}  // namespace gp::softmax
