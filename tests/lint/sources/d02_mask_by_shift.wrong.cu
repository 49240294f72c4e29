// The shift by the whole width is undefined, and gives an empty mask on real devices.
template <int kWidth>
__device__ float first(float value) {
  const unsigned mask = (1u << kWidth) - 1;  // expect: GPL011
  return __shfl_sync(mask, value, 0);
}

__device__ unsigned long long group_mask(int group_width) {
  return (1ull << group_width) - 1;  // expect: GPL011
}

__device__ float pick(float value, int group_width) {
  return __shfl_sync((1ull << group_width) - 1, value, 0);  // expect: GPL011
}

__device__ int rank_of(bool keep, int lane) {
  const unsigned long long votes = __ballot_sync(__activemask(), keep);
  return __popcll(votes & ((1u << lane) - 1));  // expect: GPL011
}
