// Bitonic sort: each block sorts its own 2 * blockDim.x keys in shared memory. One kernel for every type of key.
template <typename Key>
__device__ inline void compare_and_swap(Key& a, Key& b, bool ascending) {
  if ((b < a) == ascending) {
    Key t = a;
    a = b;
    b = t;
  }
}

template <typename Key, int THREADS>
__global__ void __launch_bounds__(THREADS) bitonic_sort(Key* keys, bool ascending) {
  __shared__ Key s[2 * THREADS];
  const int count = 2 * THREADS;
  Key* const mine = keys + (size_t)blockIdx.x * count;

  s[threadIdx.x] = mine[threadIdx.x];
  s[threadIdx.x + THREADS] = mine[threadIdx.x + THREADS];

  for (int size = 2; size <= count; size *= 2) {
    bool up = size == count ? ascending : ((threadIdx.x & (size / 2)) == 0) == ascending;
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      compare_and_swap(s[at], s[at + stride], up);
    }
  }
  __syncthreads();

  mine[threadIdx.x] = s[threadIdx.x];
  mine[threadIdx.x + THREADS] = s[threadIdx.x + THREADS];
}

template __global__ void bitonic_sort<int, 128>(int*, bool);
template __global__ void bitonic_sort<float, 64>(float*, bool);
