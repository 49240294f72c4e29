#include <cooperative_groups.h>

__device__ void settle() { __syncthreads(); }

__global__ void barriers(float* data, int n) {
  if (threadIdx.x < 16) __syncthreads();  // expect: GPL009
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    data[i] = 0;
    __syncthreads();  // expect: GPL009
  }
  const bool mine = data[threadIdx.x] > 0;
  if (mine) settle();  // expect: GPL009
  auto block = cooperative_groups::this_thread_block();
  while (threadIdx.x < n) {
    block.sync();  // expect: GPL009
    break;
  }
}

__global__ void early(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  data[i] = 0;
  __syncthreads();  // expect: GPL009
}
