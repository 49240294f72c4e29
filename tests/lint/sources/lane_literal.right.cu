template <int kWarp>
__device__ int last_of_warp(int value) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int first = warp * kWarp;
  if (lane == kWarp - 1) value += first;
  value += __shfl_sync(__activemask(), value, kWarp - 1);
  return value + (kWarp - 1 - lane);
}

template <int kWarp>
__global__ void first_warp(int* data) {
  if (threadIdx.x < kWarp) {
    data[threadIdx.x] = __shfl_xor_sync(__activemask(), data[threadIdx.x], 1);
  }
}

// A histogram of 32 bins is no warp.
__global__ void clear(int* bins) {
  if (threadIdx.x < 32) bins[threadIdx.x] = 0;
}
