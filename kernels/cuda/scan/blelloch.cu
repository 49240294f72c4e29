// scan.blelloch: an up-sweep to the total, the root set to the identity, a down-sweep to the exclusive scan.
// 2n - 2 additions for a block of n: 1,022 for 512 (Blelloch, "Prefix sums and their applications", 1990). In place in
// shared memory. [3 -1 4 1] goes up to [3 2 4 5] and [3 2 4 7], then down from [3 2 4 0] by [3 0 4 2] to [0 3 2 6]. Any
// length through levels.cuh.
#include "levels.cuh"

namespace gp::scan {

template <int kWarp>
struct Blelloch {
  static constexpr int kThreads = 256;
  static constexpr int kItems = 2 * kThreads;
  template <typename Op>
  struct Storage {
    typename Op::State tree[kItems];
    typename Op::State total;
  };

  enum Sweep { kUp, kRoot, kDown };

  // `watch(sweep, width, tree)` is called by every thread after its part of each level.
  template <typename Op, typename Load, typename Store, typename Watch = Unwatched>
  static GP_DEVICE typename Op::State scan(Load load, Store store, Storage<Op>& storage, Watch watch = {}) {
    using State = typename Op::State;
    const int thread = threadIdx.x;
    State* const tree = storage.tree;
    const State first = load(thread), second = load(thread + kThreads);
    tree[thread] = first;
    tree[thread + kThreads] = second;
    for (int width = 1; width < kItems; width *= 2) {
      __syncthreads();  // the level below is complete
      const int right = (2 * thread + 2) * width - 1;
      if (right < kItems) tree[right] = Op::combine(tree[right - width], tree[right]);
      watch(kUp, width, tree);
    }
    __syncthreads();  // the total is at the root
    if (thread == 0) {
      storage.total = tree[kItems - 1];
      tree[kItems - 1] = Op::identity();
    }
    watch(kRoot, kItems, tree);
    for (int width = kItems / 2; width > 0; width /= 2) {
      __syncthreads();  // the level above is complete
      const int right = (2 * thread + 2) * width - 1;
      if (right < kItems) {
        const State left = tree[right - width];
        tree[right - width] = tree[right];
        tree[right] = Op::combine(tree[right], left);
      }
      watch(kDown, width, tree);
    }
    __syncthreads();  // the exclusive scan is complete
    store(thread, tree[thread], Op::combine(tree[thread], first));
    store(thread + kThreads, tree[thread + kThreads], Op::combine(tree[thread + kThreads], second));
    return storage.total;
  }
};

void blelloch(const Call& call) { run_levels<Blelloch>(call); }

}  // namespace gp::scan
