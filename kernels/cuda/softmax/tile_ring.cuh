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
  bool edges;     // whether rows may have some
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

  GP_DEVICE RowSpan<T> span_of(const Rows<T>& rows, index_t row) const { return {rows, row, shape.edges}; }
  GP_DEVICE index_t pack_of(int tile, int k) const { return tile * shape.packs + k * workers + thread; }
  GP_DEVICE KeptPack<T> staged(int stage_index, int k) const {
    KeptPack<T> pack;
    pack.load(stage(stage_index) + k * workers);
    return pack;
  }
  GP_DEVICE PackOf<T>* stage(int index) const { return packs + index * int(shape.packs) + thread; }
  // The row's packs from the thread's first of the tile on, as far as a tile can ask.
  GP_DEVICE int packs_left(const RowSpan<T>& span, int tile) const {
    const index_t left = span.packs - pack_of(tile, 0);
    return left < shape.packs ? int(left) : int(shape.packs);
  }

  // The element of the edges that the thread has in the tile, -1 where it has none.
  GP_DEVICE index_t edge_col(const RowSpan<T>& span, int tile) const {
    if (!shape.edges) return -1;
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
    const auto* const source = reinterpret_cast<const PackOf<T>*>(span.start + span.head) + pack_of(tile, 0);
    const int left = packs_left(span, tile);
#pragma unroll
    for (int k = 0; k < kTilePacks; ++k) {
      if (k * workers < left) copy_async(target + k * workers, source + k * workers, hint...);
    }
  }

  // The thread's elements of a tile, from its stage. What the row does not have is whatever the stage holds, until it
  // is replaced: a condition on each load would have them wait for each other.
  GP_DEVICE Packs read(const RowSpan<T>& span, int tile, int stage_index) const {
    const PackOf<T>* const source = stage(stage_index);
    const int left = packs_left(span, tile);
    Packs values;
#pragma unroll
    for (int k = 0; k < kTilePacks; ++k) values.kept[k].load(source + k * workers);
    if ((kTilePacks - 1) * workers >= left) {
#pragma unroll
      for (int k = 0; k < kTilePacks; ++k) {
        if (k * workers >= left) values.kept[k].set(span.no_pack());
      }
    }
    return values;
  }

  // Writes a tile whose packs `source` gives: source(k), a KeptPack, is the k-th of the thread.
  template <typename Source, typename Result>
  GP_DEVICE void write(const Rows<T>& rows, index_t row, const RowSpan<T>& span, int tile, Source source,
                       const Result& result) const {
    const int left = packs_left(span, tile);
    if (writes_packs(rows, row, span)) {
      T* const target = &rows.out(row, span.col_of(pack_of(tile, 0)));
      KeptPack<T> packs[kTilePacks];
#pragma unroll
      for (int k = 0; k < kTilePacks; ++k) packs[k] = source(k);
#pragma unroll
      for (int k = 0; k < kTilePacks; ++k) {
        A values[kItems];
        packs[k].widen(values);
#pragma unroll
        for (A& value : values) value = result(value);
        if (k * workers < left) store_pack(target + k * workers * kItems, KeptPack<T>::narrow(values));
      }
    } else {
#pragma unroll 1
      for (int k = 0; k < kTilePacks; ++k) {
        if (k * workers < left) write_elements(rows, row, span, pack_of(tile, k), result);
      }
    }
    const index_t col = edge_col(span, tile);
    if (col >= 0) rows.out(row, col) = T(result(A(span.start[col])));
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
