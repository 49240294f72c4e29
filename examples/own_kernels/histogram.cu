// Histogram of bytes: a private copy per block in shared memory, merged with global atomics.
#include <stdint.h>

extern "C" __global__ void histogram(const uint8_t* data, unsigned long long n, unsigned int* bins) {
  __shared__ unsigned int local[256];

  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();

  unsigned long long stride = (unsigned long long)blockDim.x * gridDim.x;
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) atomicAdd(&local[data[i]], 1u);
  __syncthreads();

  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i] != 0) atomicAdd(&bins[i], local[i]);
}
