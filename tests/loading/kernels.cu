// What the tests of gpuport.load launch: every kind of parameter, and every place that a name can stand in.
#include "offset.h"

__constant__ float bias[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ int counter, other = 5;

__global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i] + OFFSET;
}

template <typename T, int kFactor>
__global__ void scale(T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] * kFactor;
}
template __global__ void scale<double, 7>(double*, int);

namespace outer::inner {
__global__ void put(int* p, int v) { *p = v; }
__global__ void put(float* p, float v) { *p = v; }
namespace {
__device__ short hidden[2] = {3, -4};
__global__ void secret(int* p) { *p = 42; }
}  // namespace
}  // namespace outer::inner

enum class Mode : unsigned char { kAdd, kSubtract };
struct Pair {
  int count;
  double weight;
};

extern "C" __global__ void __launch_bounds__(256)
    numbers(bool b, signed char c, unsigned char uc, short s, unsigned short us, int i, unsigned u, long long l,
            unsigned long long ul, float f, double d, Mode mode, double* out) {
  const double values[] = {double(b), double(c), double(uc), double(s), double(us), double(i),
                           double(u), double(l), double(ul), double(f), d,          double(mode)};
  for (int k = 0; k < 12; ++k) out[k] = values[k];
}

__global__ void structs(Pair pair, float3 v, const Pair* pairs, double* out) {
  out[0] = pair.count * pair.weight;
  out[1] = v.x + v.y + v.z;
  out[2] = pairs == nullptr ? -1.0 : pairs[1].weight;
}

__global__ void reversed(const int* in, int* out) {
  extern __shared__ int held[];
  held[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}

__global__ void tell(int* lanes, const void* anything) {
  if (threadIdx.x == 0) *lanes = anything == nullptr ? -warpSize : warpSize;
  atomicAdd(&counter, 1);
}

__global__ void add_bias(float* y) { y[threadIdx.x] += bias[threadIdx.x]; }

__global__ void divergent(int* p) {
  if (threadIdx.x < 3) __syncthreads();
  p[0] = 1;
}

__global__ void asserting(const int* p) { assert(p[0] == 0); }

__global__ void meet(int* arrived, int* seen) {
  atomicAdd(arrived, 1);
  while (atomicAdd(arrived, 0) < int(gridDim.x)) {
  }
  seen[blockIdx.x] = atomicAdd(arrived, 0);
}

__global__ void nothing() {}

#ifdef WITH_DOUBLE
__global__ void chosen(double* p) { *p = 2; }
#else
__global__ void chosen(float* p) { *p = 1; }
#endif
#if 0
__global__ void never(oops) {}
#endif
