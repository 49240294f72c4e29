template <int kWarp>
__device__ int lane() {
  return threadIdx.x % kWarp;
}

int width_of(int device) {
  int width = 0;
  check(cudaDeviceGetAttribute(&width, cudaDevAttrWarpSize, device));
  return width;
}
