// scan.hillis_steele: log2 n steps, in each of which every element adds the one 1, 2, 4, ... places before it.
// n log2 n - (n - 1) additions for a block of n: 4,097 for 512. Steps instead of work (Hillis and Steele, "Data
// parallel algorithms", 1986). Any length through levels.cuh. Two buffers in shared memory, read from one, written to
// the other.
#include "levels.cuh"

namespace gp::scan {

template <int kWarp>
struct HillisSteele {
  static constexpr int kThreads = 512;
  static constexpr int kItems = kThreads;
  template <typename Op>
  struct Storage {
    typename Op::State buffer[2][kItems];
  };

  template <typename Op, typename Load, typename Store>
  static GP_DEVICE typename Op::State scan(Load load, Store store, Storage<Op>& storage) {
    using State = typename Op::State;
    const int i = threadIdx.x;
    State state = load(i);
    storage.buffer[0][i] = state;
    int from = 0;
    for (int distance = 1; distance < kItems; distance *= 2) {
      __syncthreads();  // every element of the step before is written
      if (i >= distance) state = Op::combine(storage.buffer[from][i - distance], state);
      from = 1 - from;
      storage.buffer[from][i] = state;
    }
    __syncthreads();  // the inclusive scan is complete
    store(i, i == 0 ? Op::identity() : storage.buffer[from][i - 1], state);
    return storage.buffer[from][kItems - 1];
  }
};

void hillis_steele(const Call& call) { run_levels<HillisSteele>(call); }

}  // namespace gp::scan
