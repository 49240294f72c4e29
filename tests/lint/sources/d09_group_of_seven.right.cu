template <int kGroup>
__device__ int group_sum(int value) {
  static_assert(kGroup > 0 && (kGroup & (kGroup - 1)) == 0, "a power of two");
  for (int delta = kGroup / 2; delta > 0; delta /= 2)
    value += __shfl_down_sync(~0ull, value, delta, kGroup);
  return value;
}

__device__ int eight(int value) {
  value += __shfl_down_sync(~0ull, value, 4, 8);
  return value + group_sum<8>(value);
}

__device__ void tile() {
  auto part = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
  part.sync();
}
