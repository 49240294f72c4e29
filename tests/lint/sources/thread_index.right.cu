template <int kWarp>
__global__ void by_warp(const int* in, int* out) {
  __shared__ int totals[256 / kWarp];
  const int tid = threadIdx.x + blockDim.x * threadIdx.y;
  const int column = tid % kWarp;
  const int group = tid / kWarp;
  if (column == 0) totals[group] = in[tid];
  __syncthreads();
  out[tid] = totals[threadIdx.x / kWarp];
}

// Tiles and words of 32, none of them a warp.
__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[32][33];
  const int column = threadIdx.x % 32;
  const int row = threadIdx.x / 32;
  tile[row][column] = in[(blockIdx.y * 32 + row) * n + blockIdx.x * 32 + column];
  __syncthreads();
  out[(blockIdx.x * 32 + row) * n + blockIdx.y * 32 + column] = tile[column][row];
}

__global__ void set_bits(const int* keep, unsigned* words, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (keep[i]) atomicOr(&words[i / 32], 1u << (i % 32));
  }
}

int blocks_for(int n) { return (n + 31) / 32; }
