// Kernels whose resources are known beforehand. The same text compiles as CUDA and as HIP.
#if defined(__HIP__)
#include <hip/hip_runtime.h>
#endif

constexpr int kThreads = 256;

__global__ void plain(int* out) { out[threadIdx.x] = 1; }

// 256 elements of shared memory: 1024 bytes of float, 2048 of double.
template <typename T>
__global__ void tile(T* data) {
  __shared__ T shared[kThreads];
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = shared[kThreads - 1 - threadIdx.x];
}
template __global__ void tile<float>(float*);
template __global__ void tile<double>(double*);

// An array that is indexed by data: a stack frame of at least 256 bytes, and nothing spilled.
__global__ void framed(int* data, int n) {
  int local[64];
  for (int i = 0; i < 64; ++i) local[i] = data[i] * n;
  for (int i = 0; i < n; ++i) local[(i * 7 + n) & 63] += local[(i + n) & 63];
  data[0] = local[n & 63];
}

// More values alive at once than registers that blocks of this size leave to a thread.
#if defined(__HIP__)
constexpr int kAlive = 192;
__global__ void __launch_bounds__(1024) spilled(float* data, int n) {
#else
constexpr int kAlive = 96;
__global__ void __launch_bounds__(1024, 2) spilled(float* data, int n) {
#endif
  float alive[kAlive];
#pragma unroll
  for (int i = 0; i < kAlive; ++i) alive[i] = data[i * n];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < kAlive; ++i) alive[i] = alive[i] * alive[(i + 1) % kAlive] + data[k];
  }
#pragma unroll
  for (int i = 0; i < kAlive; ++i) data[i * n] = alive[i];
}

#if defined(WITH_MAIN)
int main() { plain<<<1, 1>>>(nullptr); }
#endif
