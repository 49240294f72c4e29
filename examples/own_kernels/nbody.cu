// One step of n bodies that attract each other: all pairs, bodies loaded a tile at a time into shared memory.
#include <cuda_runtime.h>
#include <math.h>

struct Step {
  float dt;
  float softening;
};

__device__ float3 attraction(float3 a, float4 at, float4 by, float softening) {
  float3 d = make_float3(by.x - at.x, by.y - at.y, by.z - at.z);
  float squared = d.x * d.x + d.y * d.y + d.z * d.z + softening * softening;
  float inverse = rsqrtf(squared);
  float s = by.w * inverse * inverse * inverse;
  a.x += d.x * s;
  a.y += d.y * s;
  a.z += d.z * s;
  return a;
}

// Positions have the mass in w.
__global__ void nbody_step(const float4* old_positions, float4* new_positions, float4* velocities, int n, Step step) {
  extern __shared__ float4 tile[];

  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 position = i < n ? old_positions[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float3 a = make_float3(0.0f, 0.0f, 0.0f);

  for (int start = 0; start < n; start += blockDim.x) {
    int j = start + threadIdx.x;
    tile[threadIdx.x] = j < n ? old_positions[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
#pragma unroll 4
    for (unsigned k = 0; k < blockDim.x; ++k) a = attraction(a, position, tile[k], step.softening);
    __syncthreads();
  }

  if (i >= n) return;
  float4 v = velocities[i];
  v.x += a.x * step.dt;
  v.y += a.y * step.dt;
  v.z += a.z * step.dt;
  velocities[i] = v;
  new_positions[i] =
      make_float4(position.x + v.x * step.dt, position.y + v.y * step.dt, position.z + v.z * step.dt, position.w);
}
