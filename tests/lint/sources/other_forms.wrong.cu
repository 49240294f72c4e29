// The same faults in other forms.
#include <cuda_runtime.h>
#define FULL_MASK 0xffffffff
#define NWARPS (BLOCK / 32)
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
template <typename T> __inline__ __device__ T warpReduceSum(T val) {
  int offset = 16;  // expect: GPL002
  while (offset > 0) { val += __shfl_down_sync(FULL_MASK, val, offset); offset >>= 1; }  // expect: GPL003
  return val;
}
__device__ void take(unsigned m) {}
__global__ void a(int* x, int n) {
  __shared__ int s[kWarps];  // expect: GPL008
  __shared__ int s2[NWARPS];  // expect: GPL008
  extern __shared__ float dyn[];
  unsigned m = (1u << n) - 1;  // expect: GPL011
  x[0] = __shfl_sync(m, x[0], 0);
  take(__ballot_sync(m, x[1]));  // expect: GPL004
  if (__ballot_sync(m, x[2]) & (1 << threadIdx.x)) x[3] = 1;  // expect: GPL011
  int l = threadIdx.x & (32 - 1);  // expect: GPL007
  int nwarps = (blockDim.x + 31) / 32;  // expect: GPL001
  x[l] = __shfl_down_sync(m, x[l], 32 / 2);  // expect: GPL002
  dyn[threadIdx.x] = x[0];
  x[1] = dyn[threadIdx.x + 1];  // expect: GPL010
  for (int o = 32 >> 1; o; o >>= 1) x[0] += __shfl_xor_sync(m, x[0], o);  // expect: GPL002
  float v[warpSize];  // expect: GPL006
  auto w = static_cast<uint32_t>(__activemask());  // expect: GPL004
  if (x[threadIdx.x]) { __syncthreads(); }  // expect: GPL009
  do { __syncthreads(); } while (threadIdx.x < n--);  // expect: GPL009
  switch (threadIdx.x) { case 0: __syncthreads(); }  // expect: GPL009
  threadIdx.x > 5 ? __syncthreads() : (void)0;  // expect: GPL009
  if (threadIdx.x % warpSize == 0) atomicAdd(x, __popc(__ballot(1)));  // expect: GPL005 GPL012
}
void f(int* x, void** args) {
  cudaLaunchKernel((void*)a, 1, 32, args, 0, 0);  // expect: GPL013
  a<<<1, kThreads, kThreads / 32 * sizeof(int)>>>(x, 1);  // expect: GPL013 GPL008
}
