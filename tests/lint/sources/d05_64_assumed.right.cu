template <int kWarp>
__global__ void softmax_row(const float* in, float* out, int cols) {
  const int lane = threadIdx.x % kWarp;
  const int row = blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  float sum = 0;
  for (int col = lane; col < cols; col += kWarp) sum += __expf(in[row * cols + col]);
  for (int delta = kWarp / 2; delta > 0; delta /= 2)
    sum += __shfl_xor_sync(~0ull >> (64 - kWarp), sum, delta, kWarp);
  for (int col = lane; col < cols; col += kWarp) out[row * cols + col] = __expf(in[row * cols + col]) / sum;
}
