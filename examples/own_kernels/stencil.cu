// 1-D stencil of radius RADIUS: the block loads its elements and a halo on either side into dynamic shared memory.
// The weights are constant memory, set by the host.

#ifndef RADIUS
#define RADIUS 3
#endif

__constant__ double weights[2 * RADIUS + 1];

__global__ void stencil_1d(const double* in, double* out, int n) {
  extern __shared__ double tile[];

  int g = blockIdx.x * blockDim.x + threadIdx.x;
  int l = threadIdx.x + RADIUS;

  tile[l] = g < n ? in[g] : 0.0;
  if (threadIdx.x < RADIUS) {
    tile[l - RADIUS] = g >= RADIUS && g - RADIUS < n ? in[g - RADIUS] : 0.0;
    int right = g + blockDim.x;
    tile[l + blockDim.x] = right < n ? in[right] : 0.0;
  }
  __syncthreads();

  if (g >= n) return;
  double sum = 0.0;
  for (int k = -RADIUS; k <= RADIUS; ++k) sum += weights[k + RADIUS] * tile[l + k];
  out[g] = sum;
}
