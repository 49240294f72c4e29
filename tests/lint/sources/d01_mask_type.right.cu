using lane_mask = unsigned long long;

template <int kWidth>
__device__ lane_mask all_lanes() {
  return ~lane_mask(0) >> (64 - kWidth);
}

template <int kWidth>
__device__ float spread(float value) {
  value += __shfl_xor_sync(all_lanes<kWidth>(), value, 1);
  __syncwarp(all_lanes<kWidth>());
  return __all_sync(all_lanes<kWidth>(), value > 0) ? value : 0;
}

__device__ float through(float value, lane_mask mask = ~0ull) { return __shfl_sync(mask, value, 0); }

// Not masks of lanes.
__device__ unsigned hash(unsigned key) { return key * 0x9e3779b9u & 0xffffffffu; }

// A mask of bits is none of lanes.
__device__ unsigned low_bits(unsigned value, int bits) {
  const unsigned mask = 0xffffffffu >> (32 - bits);
  return value & mask;
}

template <typename T>
__device__ T fold(unsigned long long mask, T value) {
  return __shfl_sync(mask, value, 0);
}

__device__ float first_of(float value, int missing) {
  const unsigned long long mask = ~0ull >> missing;
  return fold<float>(mask, value);
}
