template <int kWarp>
__device__ float warp_total(float value) {
  for (int delta = kWarp / 2; delta > 0; delta >>= 1)
    value += __shfl_down_sync(__activemask(), value, delta);
  return value;
}

template <int kWarp, int kThreads>
__global__ void block_total(const float* in, float* out) {
  __shared__ float partial[kThreads / kWarp];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  float value = warp_total<kWarp>(in[threadIdx.x]);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < kThreads / kWarp ? partial[lane] : 0.0f;
    value = warp_total<kWarp>(value);
    if (lane == 0) *out = value;
  }
}
