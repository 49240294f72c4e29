__device__ void fold(volatile float* sdata, int tid) {  // expect: GPL010
  sdata[tid] += sdata[tid + 16];
  sdata[tid] += sdata[tid + 8];
}

__global__ void neighbours(float* data) {
  __shared__ float row[256];
  row[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = row[threadIdx.x ^ 1];  // expect: GPL010
}

__global__ void tree(float* data) {
  __shared__ float part[64];
  const int tid = threadIdx.x;
  part[tid] = data[tid];
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (tid < step) part[tid] += part[tid + step];  // expect: GPL010
  }
}

__global__ void broadcast(float* data) {
  __shared__ float total;
  if (threadIdx.x == 0) total = data[0];
  data[threadIdx.x] = total;  // expect: GPL010
}

__global__ void tree_of_sums(float* data) {
  __shared__ float part[64];
  part[threadIdx.x] = data[threadIdx.x];
  for (int step = 32; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
  }
  if (threadIdx.x == 0) data[0] = part[1];  // expect: GPL010
  if (threadIdx.x < 2) data[1] = part[0];   // expect: GPL010
}

__global__ void columns(float* data) {
  __shared__ float table[16][16];
  table[2][threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = table[3][threadIdx.x + 1];  // expect: GPL010
}

// The next round reads what another thread has just written.
__global__ void factor(float* data) {
  __shared__ float line[16];
  line[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 15; ++i) {
    if (threadIdx.x > i) line[threadIdx.x] -= line[i];  // expect: GPL010
  }
}

__global__ void beyond(float* data) {
  __shared__ float line[16];
  for (int i = 0; i < 15; ++i) {
    __syncthreads();
    if (threadIdx.x >= i) line[threadIdx.x] -= data[i];
    if (threadIdx.x > i) data[i] = line[i];  // expect: GPL010
  }
}
