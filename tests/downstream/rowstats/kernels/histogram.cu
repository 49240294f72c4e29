// Plain CUDA as nvcc takes it: no header of gpuport, and none of the runtime.
#include "rowstats.h"

namespace {

constexpr int kThreads = 128;

__global__ void histogram_kernel(const unsigned char* x, long long size, unsigned* bins) {
  __shared__ unsigned local[kBins];
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) local[i] = 0;
  __syncthreads();
  const long long step = (long long)blockDim.x * gridDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < size; i += step) atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

}  // namespace

const char* histogram(const unsigned char* x, long long size, unsigned* bins, int device) {
  cudaError_t status = cudaSetDevice(device);
  if (status == cudaSuccess) status = cudaMemset(bins, 0, kBins * sizeof(unsigned));
  if (status != cudaSuccess) return cudaGetErrorString(status);
  histogram_kernel<<<4, kThreads>>>(x, size, bins);
  status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}
