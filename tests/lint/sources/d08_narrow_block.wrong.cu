// Lanes that do not exist, or have left, join the shuffle; tiny rows overwrite scratch that is still read.
template <int kWarp>
__device__ float warp_max(float value) {
  for (int delta = kWarp / 2; delta > 0; delta /= 2)
    value = fmaxf(value, __shfl_xor_sync(~0ull, value, delta));
  return value;
}

template <int kWarp>
__global__ void row_max(const float* in, float* out, int cols) {
  float value = threadIdx.x < cols ? in[threadIdx.x] : -1e30f;
  if (threadIdx.x < cols) value = warp_max<kWarp>(value);  // expect: GPL015
  if (threadIdx.x == 0) *out = value;
}

template <int kWarp>
__global__ void row_max_early(const float* in, float* out, int cols) {
  if (threadIdx.x >= cols) return;
  const float value = warp_max<kWarp>(in[threadIdx.x]);  // expect: GPL015
  if (threadIdx.x == 0) *out = value;
}

__global__ void shifted(const float* in, float* out, int rows) {
  __shared__ float scratch[64];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    scratch[threadIdx.x] = in[row * 64 + threadIdx.x];  // expect: GPL010
    __syncthreads();
    out[row * 64 + threadIdx.x] = scratch[63 - threadIdx.x];
  }
}

void launch(const float* in, float* out, int cols) {
  row_max<32><<<1, 32>>>(in, out, cols);  // expect: GPL014
  check(cudaGetLastError());
}
