// Forms that were taken for faults once, in code of others.
template <int kWarp>
__device__ int warp_sum(int value) {
  for (int delta = kWarp / 2; delta > 0; delta /= 2) value += __shfl_xor_sync(~0ull, value, delta);
  return value;
}

// A member with the name of a variable is another thing.
template <int kWarp>
__global__ void members(int4* data) {
  const int w = threadIdx.x / kWarp;
  data[0].w = threadIdx.x;
  if (w == 0) data[0].x = warp_sum<kWarp>(data[1].w);
}

// What one thread leaves in shared memory is the same for all who read it.
__global__ void elected(int* data) {
  __shared__ int chosen;
  if (data[threadIdx.x] == 0) chosen = threadIdx.x;
  __syncthreads();
  if (chosen == 5) __syncthreads();
}

// A vote is the same in all lanes.
__device__ int first_set(bool flag, int value) {
  const unsigned long long votes = __ballot_sync(~0ull, flag);
  if (votes == 0) return -1;
  return __shfl_sync(~0ull, value, __ffsll(votes) - 1);
}

// Of two overloads only one waits for the block.
__device__ void add(int* data, int) { data[0] += 1; }
__device__ void add(int* data) {
  __syncthreads();
  if (threadIdx.x == 0) add(data, 1);
}

// Whole warps by the name of the constant.
template <int kLoadThreads>
__global__ void roles(int* data) {
  if (threadIdx.x >= kLoadThreads) data[threadIdx.x] = __shfl_sync(~0ull, data[0], 0);
}

// A lambda runs when it is called, not where it stands.
__global__ void later(int* data) {
  __shared__ int part[64];
  part[threadIdx.x] = data[threadIdx.x];
  auto shifted = [&](int i) { return part[i + 1]; };
  __syncthreads();
  data[threadIdx.x] = shifted(threadIdx.x);
}

// A constant of the file that is called warpSize is a constant.
namespace own {
constexpr unsigned warp_of = 16;
enum { warpSize = 16 };
__device__ float scratch[warpSize];
}  // namespace own
