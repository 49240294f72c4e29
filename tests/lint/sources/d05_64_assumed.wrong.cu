// The same mistake the other way round: each row of a softmax sums to one half on a device with 32 lanes.
__global__ void softmax_row(const float* in, float* out, int cols) {
  const int lane = threadIdx.x & 63;  // expect: GPL007
  const int row = blockIdx.x * 4 + threadIdx.x / 64;  // expect: GPL007
  float sum = 0;
  for (int col = lane; col < cols; col += 64) sum += __expf(in[row * cols + col]);
  for (int delta = 32; delta > 0; delta /= 2)  // expect: GPL002
    sum += __shfl_xor_sync(~0ull, sum, delta, 64);  // expect: GPL002
  for (int col = lane; col < cols; col += 64) out[row * cols + col] = __expf(in[row * cols + col]) / sum;
}
