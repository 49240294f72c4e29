template <int kWidth>
__device__ float first(float value) {
  const unsigned long long mask = ~0ull >> (64 - kWidth);
  return __shfl_sync(mask, value, 0);
}

__device__ unsigned long long group_mask(int group_width) {
  return group_width == 64 ? ~0ull : (1ull << group_width) - 1;
}

__device__ float pick(float value, int group_width) {
  if (group_width < 64) return __shfl_sync((1ull << group_width) - 1, value, 0);
  return __shfl_sync(~0ull, value, 0);
}

__device__ int rank_of(bool keep, int lane) {
  const unsigned long long votes = __ballot_sync(__activemask(), keep);
  return __popcll(votes & ((1ull << lane) - 1));
}

// Bits of a key, not of lanes.
__device__ unsigned digit(unsigned key, int first_bit, int bits) { return key >> first_bit & ((1u << bits) - 1); }
