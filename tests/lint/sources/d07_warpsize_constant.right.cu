template <int kLanes>
struct Tile {};

struct Device {
  int warpSize;
};

template <int kWarp>
__global__ void uses(int* out) {
  __shared__ float partial[1024 / kWarp];
  constexpr int kHalf = kWarp / 2;
  static_assert(kWarp == 32 || kWarp == 64);
  Tile<kWarp> tile;
  const int width = warpSize;
  partial[threadIdx.x] = kHalf;
  *out = width;
}

int threads_of(const Device& device) { return 4 * device.warpSize; }
