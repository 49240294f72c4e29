// One tile of a row in the registers of a block: each thread takes kTileItems neighbours.
#pragma once

#include "operators.hpp"

namespace gp::scan {

inline constexpr int kTileThreads = 256;
inline constexpr int kTileItems = 8;
inline constexpr index_t kTile = index_t(kTileThreads) * kTileItems;

template <typename Op>
struct Tile {
  using State = typename Op::State;
  State items[kTileItems];
  State total;  // of this thread's items

  GP_DEVICE void load(const Op& op, const View2<const typename Op::Input>& in, index_t row, index_t base) {
    const index_t first = base + index_t(threadIdx.x) * kTileItems;
    total = Op::identity();
#pragma unroll
    for (int i = 0; i < kTileItems; ++i) {
      items[i] = first + i < in.cols ? op.lift(in(row, first + i)) : Op::identity();
      total = Op::combine(total, items[i]);
    }
  }

  // `before` is the combination of everything to the left of this thread's items.
  GP_DEVICE void store(const View2<typename Op::Result>& out, index_t row, index_t base, State before,
                       bool inclusive) const {
    const index_t first = base + index_t(threadIdx.x) * kTileItems;
#pragma unroll
    for (int i = 0; i < kTileItems; ++i) {
      const State after = Op::combine(before, items[i]);
      if (first + i < out.cols) out(row, first + i) = Op::finish(inclusive ? after : before);
      before = after;
    }
  }
};

}  // namespace gp::scan
