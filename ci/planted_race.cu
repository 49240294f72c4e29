// A reduction without the barrier before its scratch is read: the sanitizer that finds nothing here finds nothing.
#include <cuda_runtime.h>
#include <cstdio>

__global__ void planted_race_kernel(float* out) {
  __shared__ float scratch[256];
  scratch[threadIdx.x] = float(threadIdx.x);
  out[threadIdx.x] = scratch[255 - threadIdx.x];  // no __syncthreads() before
}

int main() {
  float* out = nullptr;
  if (cudaMalloc(&out, 256 * sizeof(float)) != cudaSuccess) return 1;
  planted_race_kernel<<<1, 256>>>(out);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
