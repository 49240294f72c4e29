constexpr int kTile = 32;

template <int kWarpSize>
__device__ int lane() {
  return threadIdx.x & (kWarpSize - 1);
}

__global__ void tiles(float* data) { data[blockIdx.x * kTile + threadIdx.x % kTile] = 0; }

template <int kWarp>
__device__ int total(int value, int width = kWarp) {
  return __shfl_xor_sync(~0ull, value, 1, width);
}
