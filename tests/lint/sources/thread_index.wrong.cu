__global__ void by_warp(const int* in, int* out) {
  __shared__ int totals[256 / 32];  // expect: GPL008
  const int tid = threadIdx.x + blockDim.x * threadIdx.y;
  const int column = tid % 32;  // expect: GPL007
  const int group = tid >> 5;  // expect: GPL007
  if (column == 0) totals[group] = in[tid];
  __syncthreads();
  out[tid] = totals[threadIdx.x / 32];  // expect: GPL007
}
