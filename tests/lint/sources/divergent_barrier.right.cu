#include <cooperative_groups.h>

__device__ void settle() { __syncthreads(); }

__global__ void barriers(float* data, int n) {
  __shared__ float total;
  if (n < 16) __syncthreads();
  for (int base = 0; base < n; base += blockDim.x) {
    if (base + threadIdx.x < n) data[base + threadIdx.x] = 0;
    __syncthreads();
  }
  if (threadIdx.x == 0) total = data[0];
  settle();
  if (total > 0) settle();
  auto block = cooperative_groups::this_thread_block();
  for (int step = blockDim.x / 2; step > 0; step /= 2) block.sync();
}

__global__ void late(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = 0;
  __syncthreads();
}

__global__ void whole_blocks(float* data, int n) {
  if (blockIdx.x >= n) return;  // the whole block leaves
  __syncthreads();
  data[blockIdx.x] = 0;
}
