constexpr int kWarpSize = 32;  // expect: GPL018
enum { LOG_WARP_SIZE = 5 };  // expect: GPL018
constexpr int kPart = 32;  // expect: GPL018

__device__ int lane() { return threadIdx.x & (kWarpSize - 1); }
__device__ int warp() { return threadIdx.x >> LOG_WARP_SIZE; }
__device__ int part(int value) {
  const int lane_id = threadIdx.x % kPart;
  return __shfl_sync(~0ull, value, lane_id / 2);
}
__device__ int total(int value, int width = 32) {  // expect: GPL002
  return __shfl_xor_sync(~0ull, value, 1, width);
}
