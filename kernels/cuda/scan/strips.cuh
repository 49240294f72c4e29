// One tile of a row, dealt to the warps of a block for accesses that neighbours share: each warp takes a part of
// kStrips strips, and in a strip each lane a few neighbouring elements, 16 bytes of the wider types.
#pragma once

#include <gpuport/lookback.cuh>

#include "operators.hpp"

namespace gp::scan {

template <int kWarp, typename Op, int kStripCount>
struct WarpPart {
  using W = Warp<kWarp>;
  using Input = typename Op::Input;
  using State = typename Op::State;
  using Result = typename Op::Result;

  static constexpr int kItems = sizeof(Input) == 8 ? 2 : 4;  // of a lane in a strip
  static constexpr int kStrip = kWarp * kItems;
  static constexpr int kStrips = kStripCount;
  static constexpr int kLength = kStrip * kStrips;
  using Items = Pack<Input, kItems>;
  // What a lane stores of a strip: one access, or two halves.
  static constexpr int kStores = sizeof(Result) * kItems > kVectorBytes ? 2 : 1;
  static constexpr int kStoreItems = kItems / kStores;
  using Results = Pack<Result, kStoreItems>;

  [[no_unique_address]] Op op;
  int left;  // elements of the part that the row has
  Items items[kStrips];
  State before[kStrips];  // the lane's items, in the part; set by scan()

  static GP_DEVICE int offset(int strip) { return strip * kStrip + W::lane() * kItems; }
  // Of the part that begins there.
  static GP_DEVICE int left_of(index_t cols, index_t begin) {
    const index_t left = cols - begin;
    return left < kLength ? int(left) : kLength;
  }

  // `part` is where the part begins; `packs` says that rows may be read by packs.
  GP_DEVICE void load(const Input* part, index_t stride, bool packs) {
    if (packs && left == kLength) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) items[s] = *reinterpret_cast<const Items*>(part + offset(s));
    } else {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          if (offset(s) + i < left) items[s].items[i] = part[(offset(s) + i) * stride];
        }
      }
    }
    fill();
  }

  // Gives the lanes past the end of the row what adds nothing: zeros, as the operators of the family are sums.
  GP_DEVICE void fill() {
    if (left == kLength) return;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (offset(s) + i >= left) items[s].items[i] = Input();
      }
    }
  }

  // The combination of the part; lane 0 holds it.
  GP_DEVICE State total() const {
    State sums[kStrips];
#pragma unroll
    for (int s = 0; s < kStrips; ++s) sums[s] = sum_of(s);
    if constexpr (!Commutes<Op>) W::template reduce_in_order<Op>(sums);
#pragma unroll
    for (int s = 1; s < kStrips; ++s) sums[0] = Op::combine(sums[0], sums[s]);
    return Commutes<Op> ? W::template reduce<Op>(sums[0]) : sums[0];
  }

  // Sets `before` and returns the combination of the part.
  GP_DEVICE State scan() {
    State sums[kStrips];
#pragma unroll
    for (int s = 0; s < kStrips; ++s) sums[s] = sum_of(s);
#pragma unroll
    for (int delta = 1; delta < kWarp; delta *= 2) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {  // the strips' chains of shuffles hide each other's latency
        const State other = W::shuffle_up(sums[s], delta);
        if (W::lane() >= delta) sums[s] = Op::combine(other, sums[s]);
      }
    }
    State all = Op::identity();
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      const State below = W::shuffle_up(sums[s], 1);
      before[s] = W::lane() == 0 ? all : Op::combine(all, below);
      all = Op::combine(all, W::shuffle(sums[s], kWarp - 1));
    }
    return all;
  }

  // In place of each item what is before it in the part, with it or without. Where results are of the elements' type.
  GP_DEVICE void scan_items(bool inclusive) {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      State state = before[s];
#pragma unroll
      for (Input& item : items[s].items) {
        const State after = Op::combine(state, op.lift(item));
        item = inclusive ? after : state;
        state = after;
      }
    }
  }

  // Writes what scan_items() left, given the combination of all that is left of the part.
  GP_DEVICE void store_scanned(Result* part, index_t stride, bool packs, State carry) const {
    Results results[kStrips][kStores];
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        results[s][i / kStoreItems].items[i % kStoreItems] = Op::finish(Op::combine(carry, items[s].items[i]));
      }
    }
    store_results(part, stride, packs, results);
  }

  // Writes the results, given the same.
  GP_DEVICE void store(Result* part, index_t stride, bool packs, State carry, bool inclusive) const {
    Results results[kStrips][kStores];
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      State state = Op::combine(carry, before[s]);
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const State after = Op::combine(state, op.lift(items[s].items[i]));
        results[s][i / kStoreItems].items[i % kStoreItems] = Op::finish(inclusive ? after : state);
        state = after;
      }
    }
    store_results(part, stride, packs, results);
  }

 private:
  GP_DEVICE void store_results(Result* part, index_t stride, bool packs,
                               const Results (&results)[kStrips][kStores]) const {
    if (packs && left == kLength) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) store_strip(part + s * kStrip, results[s]);
    } else {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          if (offset(s) + i < left) {
            part[(offset(s) + i) * stride] = results[s][i / kStoreItems].items[i % kStoreItems];
          }
        }
      }
    }
  }

  GP_DEVICE State sum_of(int strip) const {
    State sum = op.lift(items[strip].items[0]);
#pragma unroll
    for (int i = 1; i < kItems; ++i) sum = Op::combine(sum, op.lift(items[strip].items[i]));
    return sum;
  }

  static GP_DEVICE void store_strip(Result* strip, const Results (&results)[kStores]) {
    if constexpr (sizeof(Results) < kVectorBytes) {
      *reinterpret_cast<Results*>(strip + W::lane() * kItems) = results[0];
    } else if constexpr (kStores == 1) {
      store_vector(reinterpret_cast<Results*>(strip) + W::lane(), results[0]);
    } else {
      // Neighbouring lanes trade halves first, so that each access of the warp fills whole sectors of 32 bytes: the
      // first those of the even lanes, the second those of the odd ones.
      static_assert(sizeof(Results) == kVectorBytes);
      const bool odd = W::lane() % 2 != 0;
      Results traded, first, second;
#pragma unroll
      for (int i = 0; i < kStoreItems; ++i) {  // item by item: choosing between structures would need their addresses
        traded.items[i] = odd ? results[0].items[i] : results[1].items[i];
      }
      traded = W::shuffle_xor(traded, 1);
#pragma unroll
      for (int i = 0; i < kStoreItems; ++i) {
        first.items[i] = odd ? traded.items[i] : results[0].items[i];
        second.items[i] = odd ? results[1].items[i] : traded.items[i];
      }
      Results* const target = reinterpret_cast<Results*>(strip + W::lane() / 2 * 2 * kItems) + (odd ? 1 : 0);
      store_vector(target, first);
      store_vector(target + 2, second);
    }
  }
};

// Whether every row can be read or written by packs.
template <typename T>
bool packable_rows(const View2<T>& view) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(view.data) % kVectorBytes == 0;
  return aligned && view.col_stride == 1 && (view.rows == 1 || view.row_stride * sizeof(T) % kVectorBytes == 0);
}

}  // namespace gp::scan
