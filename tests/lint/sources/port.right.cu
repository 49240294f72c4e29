// What a right port looks like.
constexpr int kRowsPerWarp = 32; constexpr int num_warp = 32; constexpr int ELEMENTS_PER_WARP = 64; constexpr int kMaxWarps = 32;
template <int W> constexpr unsigned long long kFull = W == 64 ? ~0ull : (1ull << W) - 1;
template <int W> __device__ float f(float v) {
  const unsigned long long full = W == 64 ? ~0ull : 0xffffffffull;
  v += __shfl_sync(full, v, 0) + __shfl_sync(W == 32 ? 0xffffffffull : ~0ull, v, 0);
  int lane = threadIdx.x & (warpSize - 1);
  for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_down_sync(kFull<W>, v, o, warpSize);
  if (lane < 16) v += 1;
  uint64_t m = __ballot_sync(full, v > 0);
  int n = __popcll(m & ((uint64_t{1} << lane) - 1));
  unsigned lo = static_cast<unsigned>(threadIdx.x), hi = n;
  return v + lo + hi;
}
__global__ void g(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = i % 32 + i / 64;
}
