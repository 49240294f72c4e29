// Groups whose size is no power of two.
template <int kGroup>
__device__ int group_sum(int value) {
  for (int delta = kGroup / 2; delta > 0; delta /= 2)  // expect: GPL016
    value += __shfl_down_sync(~0ull, value, delta, kGroup);
  return value;
}

__device__ int seven(int value) {
  value += __shfl_down_sync(~0ull, value, 3, 7);  // expect: GPL016
  return value + group_sum<7>(value);  // expect: GPL016
}

__device__ void tile() {
  auto part = cooperative_groups::tiled_partition<12>(cooperative_groups::this_thread_block());  // expect: GPL016
  part.sync();
}
