// One block: reduction and scan over its threads, on top of Warp.
//
// Every thread of the block must call each operation, outside divergent code. The storage is the caller's, in shared
// memory; before it is used again there must be a barrier, which the caller writes where it can say why.
#pragma once

#include "warp.cuh"

namespace gp {

template <int kWarp, int kThreads, typename Op>
struct BlockReduce {
  using State = typename Op::State;
  static constexpr int kWarps = kThreads / kWarp;
  static_assert(kThreads % kWarp == 0 && kWarps <= kWarp);
  struct Storage {
    State partial[kWarps];
  };

  // Every thread holds the result, the same bits: each warp folds the warps' partials for itself, so one barrier is
  // enough.
  static GP_DEVICE State all_reduce(State state, Storage& storage) {
    using W = Warp<kWarp>;
    state = W::template all_reduce<Op>(state);
    if (W::lane() == 0) storage.partial[W::index()] = state;
    __syncthreads();  // the partials of every warp are written
    state = W::lane() < kWarps ? storage.partial[W::lane()] : Op::identity();
    return W::template all_reduce<Op>(state);
  }
};

template <int kWarp, int kThreads, typename Op>
struct BlockScan {
  using State = typename Op::State;
  static constexpr int kWarps = kThreads / kWarp;
  static_assert(kThreads % kWarp == 0 && kWarps <= kWarp);
  struct Storage {
    State partial[kWarps];
  };

  // Thread i holds the combination of threads 0 .. i; `total`, where given, the whole block's. Keeps the order.
  static GP_DEVICE State inclusive_scan(State state, Storage& storage, State* total = nullptr) {
    State before;
    state = scan_warps(state, storage, before, total);
    return Op::combine(before, state);
  }

  // Thread i holds the combination of threads 0 .. i - 1, thread 0 the identity.
  static GP_DEVICE State exclusive_scan(State state, Storage& storage, State* total = nullptr) {
    State before;
    const State inclusive = scan_warps(state, storage, before, total);
    const State shifted = Warp<kWarp>::shuffle_up(inclusive, 1);
    return Warp<kWarp>::lane() == 0 ? before : Op::combine(before, shifted);
  }

 private:
  // The scan within the warp; `before` is the combination of all warps to the left.
  static GP_DEVICE State scan_warps(State state, Storage& storage, State& before, State* total) {
    using W = Warp<kWarp>;
    state = W::template inclusive_scan<Op>(state);
    if (W::lane() == W::kLanes - 1) storage.partial[W::index()] = state;
    __syncthreads();  // the totals of every warp are written
    const State totals =
        W::template inclusive_scan<Op>(W::lane() < kWarps ? storage.partial[W::lane()] : Op::identity());
    const int last_before = W::index() == 0 ? 0 : W::index() - 1;
    before = W::shuffle(totals, last_before);
    if (W::index() == 0) before = Op::identity();
    const State all = W::shuffle(totals, kWarps - 1);
    if (total != nullptr) *total = all;
    return state;
  }
};

// Stands where a test puts what looks at the steps of an algorithm; see tests/layer/states.cu. Compiles to nothing.
struct Unwatched {
  template <typename... Seen>
  GP_DEVICE void operator()(Seen...) const {}
};

}  // namespace gp
