// Long rows in tiles that stay in shared memory from their first reading until they are written.
//
// A tile is kTilePacks packs of each of a block's workers. A worker copies its own packs into a ring of stages, and
// nobody else reads them: once its copies have arrived there is nothing more to wait for.
#pragma once

#include <gpuport/lookback.cuh>

#include "row_packs.cuh"

namespace gp::softmax {

inline constexpr int kTilePacks = 4;
template <typename T>
inline constexpr int kMostThreads = sizeof(T) == 8 ? 256 : 512;  // of a block; float64 takes twice the registers

struct RingShape {
  int workers;  // threads
  int stages;
};

// Which tiles rows have. The elements of the edges belong to the first tile and to the last.
struct TileShape {
  index_t packs;  // of a tile
  int tiles;      // of a row
};

template <typename T>
struct TileRing {
  using A = Accum<T>;
  using Packs = RowPacks<T, kTilePacks>;
  static constexpr int kItems = kPackItems<T>;
  PackOf<T>* const packs;
  const TileShape shape;
  const int workers, thread;

  GP_DEVICE TileRing(PackOf<T>* packs, TileShape shape, int workers)
      : packs(packs), shape(shape), workers(workers), thread(threadIdx.x) {}

  GP_DEVICE index_t pack_of(int tile, int k) const { return tile * shape.packs + k * workers + thread; }
  GP_DEVICE PackOf<T>* stage(int index) const { return packs + index * int(shape.packs) + thread; }

  // The element of the edges that the thread has in the tile, -1 where it has none.
  GP_DEVICE index_t edge_col(const RowSpan<T>& span, int tile) const {
    const bool has = thread < span.head ? tile == 0 : thread < span.edges() && tile == shape.tiles - 1;
    return has ? span.col_of_edge(thread) : -1;
  }
  GP_DEVICE A edge(const RowSpan<T>& span, int tile) const {
    const index_t col = edge_col(span, tile);
    return col < 0 ? -infinity<A>() : A(span.start[col]);
  }

  // `hint`: nothing, or whether the tile will be read again.
  template <typename... Hint>
  GP_DEVICE void fetch(const RowSpan<T>& span, int tile, int stage_index, Hint... hint) const {
    PackOf<T>* const target = stage(stage_index);
    const auto* const body = reinterpret_cast<const PackOf<T>*>(span.start + span.head);
#pragma unroll
    for (int k = 0; k < kTilePacks; ++k) {
      const index_t pack = pack_of(tile, k);
      if (pack < span.packs) copy_async(target + k * workers, body + pack, hint...);
    }
  }

  // The thread's elements of a tile, from its stage.
  GP_DEVICE Packs read(const RowSpan<T>& span, int tile, int stage_index) const {
    const PackOf<T>* const source = stage(stage_index);
    Packs values;
#pragma unroll
    for (int k = 0; k < kTilePacks; ++k) {
      if (pack_of(tile, k) < span.packs) {
        values.set(k, load_vector(source + k * workers));
      } else {
        values.set(k, span.no_pack());
      }
    }
    return values;
  }

  // Writes a tile whose packs `source` gives: source(k) is the k-th of the thread.
  template <typename Source, typename Result>
  GP_DEVICE void write(const Rows<T>& rows, index_t row, const RowSpan<T>& span, int tile, Source source,
                       const Result& result) const {
    if (writes_packs(rows, row, span)) {
      T* const start = &rows.out(row, span.head);
#pragma unroll
      for (int k = 0; k < kTilePacks; ++k) {
        const index_t pack = pack_of(tile, k);
        const PackOf<T> elements = source(k);
        PackOf<T> results;
#pragma unroll
        for (int i = 0; i < kItems; ++i) results.items[i] = result(A(elements.items[i]));
        if (pack < span.packs) store_pack(start + pack * kItems, results);
      }
    } else {
#pragma unroll 1
      for (int k = 0; k < kTilePacks; ++k) {
        if (pack_of(tile, k) < span.packs) write_elements(rows, row, span, pack_of(tile, k), result);
      }
    }
    const index_t col = edge_col(span, tile);
    if (col >= 0) rows.out(row, col) = result(A(span.start[col]));
  }
  template <typename Source>
  GP_DEVICE void write(const Rows<T>& rows, index_t row, const RowSpan<T>& span, int tile, Source source,
                       const MaxSum<A>& state) const {
    if (rows.op == OpCode::kLogSoftmax) {
      write(rows, row, span, tile, source, LogProbability<T>(state));
    } else {
      write(rows, row, span, tile, source, Probability<T>(state));
    }
  }
};

// The states in `count` slots from `first`, merged by one warp; every lane holds the result. Four loads of a lane are
// on their way at once: one after the other they would take longer than the tile they are for.
template <int kWarp, typename A>
GP_DEVICE MaxSum<A> gather(const Published<MaxSum<A>>& published, index_t first, int count) {
  using W = Warp<kWarp>;
  using Slots = Published<MaxSum<A>>;
  constexpr int kInFlight = 4;
  auto state = MaxSum<A>::empty();
  for (int begin = W::lane(); begin < count; begin += kInFlight * kWarp) {
    const auto slot_of = [&](int i) { return published.at(first + begin + i * kWarp); };
    typename Slots::Slot contents[kInFlight];
    MaxSum<A> states[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (begin + i * kWarp < count) contents[i] = Slots::load(slot_of(i));
    }
    A max = state.max;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      states[i] = MaxSum<A>::empty();
      if (begin + i * kWarp < count) {
        states[i] = published.is_complete(contents[i]) ? Slots::value(contents[i]) : published.wait_for(slot_of(i));
      }
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
