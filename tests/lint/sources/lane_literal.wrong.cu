__device__ int last_of_warp(int value) {
  const int lane = threadIdx.x % warpSize;
  const int warp = threadIdx.x / warpSize;
  const int first = warp * 32;  // expect: GPL001
  if (lane == 31) value += first;  // expect: GPL001
  value += __shfl_sync(__activemask(), value, 31);  // expect: GPL002
  return value + (31 - lane);  // expect: GPL001
}

__global__ void first_warp(int* data) {
  if (threadIdx.x < 32) {  // expect: GPL001
    data[threadIdx.x] = __shfl_xor_sync(__activemask(), data[threadIdx.x], 1);
  }
}
