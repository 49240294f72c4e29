// Launches and shared memory in every form that CUDA C++ allows and a translator may trip over.
// clang-format off: it takes the chevrons of some of these for comparisons.
#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

template <typename T, int N>
struct Tile {
  T data[N];
};

template <typename T, int N>
__global__ void fill(T* out, T value) {
  __shared__ T buffer[N], *pointer, last;
  __shared__ struct {
    int count, total;
  } box, boxes[2];
  static __shared__ volatile int flags[2][3];
  __shared__ alignas(16) char raw[16 * N];
  alignas(T) __shared__ unsigned char bytes[sizeof(T)];
  __shared__ Tile<Tile<T, 2>, (N > 4 ? 4 : 2)> tiles[2], *tile;
  extern __shared__ __align__(16) unsigned char dynamic[];
  buffer[threadIdx.x % N] = value;
  if (threadIdx.x == 0) {
    pointer = buffer;
    last = value;
    box.count = boxes[1].total = raw[0] = bytes[0] = 1;
    flags[1][2] = 1;
    tile = &tiles[1];
    tile->data[0].data[1] = value;
  }
  __syncthreads();
  T* scratch = reinterpret_cast<T*>(dynamic);
  scratch[threadIdx.x] = pointer[threadIdx.x % N] + last - value;
  out[blockIdx.x * blockDim.x + threadIdx.x] = scratch[threadIdx.x] * T(box.count + boxes[1].total - 1);
}

template <typename P, bool kWide>
__global__ void pick(const P* in, float* out) {
  out[threadIdx.x] = kWide ? in[threadIdx.x].second : static_cast<float>(in[threadIdx.x].first);
}

namespace outer::inner {
template <typename T>
struct Ops {
  static int blocks(int n, int b) { return (n + b - 1) / b; }
};
__global__ void count(int* out) { atomicAdd(out, 1); }
}  // namespace outer::inner

#define LAUNCH(kernel, grid, block, ...) kernel<<<(grid), (block)>>>(__VA_ARGS__)
#define LAUNCH_ON(stream, kernel, grid, ...)          \
  do {                                                \
    kernel<<<(grid), 32, 0, (stream)>>>(__VA_ARGS__); \
  } while (0)

void run(float* x, int* c, const std::pair<int, float>* p, int n, cudaStream_t stream) {
  fill<float, 32><<<dim3((n + 31) / 32, 1, 1), dim3(32, 1), 32 * sizeof(float), stream>>>(x, 2.0f);
  fill<float, (64 >> 1)><<<std::min(2, n), std::max<int>(32, n), 32 * sizeof(float)>>>(x, 1.0f);
  pick<std::pair<int, float>, (sizeof(int) > 2)><<<n / 128 + 1, 32>>>(p, x);
  if (n > 4)
    outer::inner::count<<<n < 8 ? 1 : 2, 32>>>(c);
  else
    ::outer::inner::count<<<outer::inner::Ops<float>::blocks(n, 128), [&] { return n < 32 ? 32 : n; }()>>>(c);
  LAUNCH(outer::inner::count, 1, 32, c);
  LAUNCH_ON(stream, outer::inner::count, 1, c);
  auto* chosen = &outer::inner::count;
  (*chosen)<<<1,  // one block
              32 /* threads */>>>(c);
  int shifted = n << 2 >> 1;
  outer::inner::count<<<shifted >> 1, 1 << 5>>>(c);
}
