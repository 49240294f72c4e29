// ROCm 7 made warpSize a value of the device: none of these compile there.
template <int kLanes>
struct Tile {};

__global__ void uses() {
  __shared__ float partial[1024 / warpSize];  // expect: GPL006
  constexpr int kHalf = warpSize / 2;  // expect: GPL006
  static_assert(warpSize == 32, "lanes");  // expect: GPL006
  Tile<warpSize> tile;  // expect: GPL006
  if constexpr (warpSize > 32) __syncthreads();  // expect: GPL006
  switch (blockDim.x) {
    case warpSize: break;  // expect: GPL006
  }
  partial[threadIdx.x] = kHalf;
}
