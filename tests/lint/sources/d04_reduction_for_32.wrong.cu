// Right with 32 lanes only: the start of the tree, the lane, the warp, the number of partials.
__device__ float warp_total(float value) {
  for (int delta = 16; delta > 0; delta >>= 1)  // expect: GPL002
    value += __shfl_down_sync(__activemask(), value, delta);
  return value;
}

__global__ void block_total(const float* in, float* out) {
  __shared__ float partial[32];  // expect: GPL008
  const int lane = threadIdx.x & 31;  // expect: GPL007
  const int warp = threadIdx.x >> 5;  // expect: GPL007
  float value = warp_total(in[threadIdx.x]);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < blockDim.x / 32 ? partial[lane] : 0.0f;  // expect: GPL001
    value = warp_total(value);
    if (lane == 0) *out = value;
  }
}
