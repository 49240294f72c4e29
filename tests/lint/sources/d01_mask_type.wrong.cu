// A mask of 32 ones where HIP wants 64 bits at either width.
#define ALL_LANES 0xffffffffu

__device__ float spread(float value) {
  value += __shfl_xor_sync(0xffffffff, value, 1);  // expect: GPL003
  value += __shfl_xor_sync(ALL_LANES, value, 2);  // expect: GPL003
  value += __shfl_xor_sync(-1, value, 4);  // expect: GPL003
  const unsigned everyone = ~0u;
  value += __shfl_xor_sync(everyone, value, 8);  // expect: GPL003
  __syncwarp(UINT_MAX);  // expect: GPL003
  return __all_sync(0x0000ffff, value > 0) ? value : 0;  // expect: GPL003
}

__device__ float through(float value, unsigned mask = 0xffffffffu) {  // expect: GPL003
  return __shfl_sync(mask, value, 0);
}

__device__ bool unanimous(bool vote) { return __ballot_sync(__activemask(), vote) == 0xffffffff; }  // expect: GPL003

// Fewer than 32 ones, and never more.
template <typename T>
__device__ T fold(unsigned int mask, T value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down_sync(mask, value, offset);
  return value;
}

__device__ float first_of(float value, int missing) {
  const unsigned int mask = (0xffffffff) >> missing;  // expect: GPL003
  const unsigned own = ~0u >> 3;  // expect: GPL003
  value = __shfl_sync(own, value, 0) + __shfl_sync(0xffffffffu >> missing, value, 1);  // expect: GPL003
  return fold<float>(mask, value);
}
