// The same code with the width as a template argument.
#include <cuda_runtime.h>
using lane_mask = unsigned long long;
constexpr int kThreads = 256;
template <int kWarp>
constexpr lane_mask kAllLanes = ~lane_mask(0) >> (64 - kWarp);
template <int kWarp, typename T>
__inline__ __device__ T warpReduceSum(T val) {
  int offset = kWarp / 2;
  while (offset > 0) { val += __shfl_down_sync(kAllLanes<kWarp>, val, offset); offset >>= 1; }
  return val;
}
__device__ void take(lane_mask m) {}
template <int kWarp>
__global__ void a(int* x, int n) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ int s[kWarps];
  extern __shared__ float dyn[];
  lane_mask m = n == 64 ? ~0ull : (1ull << n) - 1;
  x[0] = __shfl_sync(m, x[0], 0);
  take(__ballot_sync(m, x[1]));
  if (__ballot_sync(m, x[2]) & (1ull << threadIdx.x)) x[3] = 1;
  int l = threadIdx.x & (kWarp - 1);
  int nwarps = (blockDim.x + kWarp - 1) / kWarp;
  x[l] = __shfl_down_sync(m, x[l], kWarp / 2);
  dyn[threadIdx.x] = x[0];
  __syncthreads();
  x[1] = dyn[threadIdx.x + 1] + s[0] + nwarps;
  for (int o = kWarp >> 1; o; o >>= 1) x[0] += __shfl_xor_sync(m, x[0], o);
  float v[kWarp];
  auto w = static_cast<uint64_t>(__activemask());
  if (x[blockIdx.x]) { __syncthreads(); }
  do { __syncthreads(); } while (n-- > 0);
  switch (n) { case 0: __syncthreads(); }
  n > 5 ? __syncthreads() : (void)0;
  if (threadIdx.x % warpSize == 0) atomicAdd(x, __popcll(__ballot_sync(m, 1)));
}
void f(int* x, void** args, int warp) {
  const cudaError_t status = cudaLaunchKernel((void*)a<32>, 1, 64, args, 0, 0);
  a<32><<<1, kThreads, kThreads / warp * sizeof(int)>>>(x, 1);
  if (status != cudaSuccess || cudaGetLastError() != cudaSuccess) throw status;
}
