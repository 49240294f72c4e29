// What one that was only renamed looks like.
__device__ float f(float v) {
  const unsigned full = 0xffffffffu;
  v += __shfl_sync(full, v, 0);  // expect: GPL003
  int lane = threadIdx.x & 31;  // expect: GPL007
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(full, v, o, 32);  // expect: GPL002 GPL002 GPL003
  unsigned m = __ballot_sync(full, v > 0);  // expect: GPL003 GPL004
  return v + __popc(m & ((1u << lane) - 1));  // expect: GPL005 GPL011
}
