__device__ void fold(float* sdata, int tid) {
  const float upper = sdata[tid + 16];
  __syncwarp();
  sdata[tid] += upper;
  __syncwarp();
}

__global__ void neighbours(float* data) {
  __shared__ float row[256];
  row[threadIdx.x] = data[threadIdx.x];
  __syncwarp();
  data[threadIdx.x] = row[threadIdx.x ^ 1];
}

__global__ void tree(float* data) {
  __shared__ float part[64];
  const int tid = threadIdx.x;
  part[tid] = data[tid];
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (tid < step) part[tid] += part[tid + step];
    __syncthreads();
  }
}

__global__ void broadcast(float* data) {
  __shared__ float total;
  if (threadIdx.x == 0) total = data[0];
  __syncthreads();
  data[threadIdx.x] = total;
}

// Each thread keeps to its own part.
__global__ void own(float* data) {
  __shared__ float mine[256 * 4];
  for (int i = 1; i < 4; ++i) {
    mine[threadIdx.x * 4 + i] = data[i];
    data[i] = mine[threadIdx.x * 4 + i - 1];
  }
}

// The barrier is at the top of the loop; what one thread reads at last, it wrote itself.
__global__ void tree_of_sums(float* data) {
  __shared__ float part[64], more[64];
  const int tid = threadIdx.x;
  part[tid] = data[tid];
  more[tid] = data[tid + 64];
  for (int step = 32; step > 0; step /= 2) {
    __syncthreads();
    if (tid < step) {
      part[tid] += part[tid + step];
      more[threadIdx.x] += more[threadIdx.x + step];
    }
  }
  if (tid == 0) data[blockIdx.x] = part[0];
  if (!threadIdx.x) data[blockIdx.x] += more[0];
}

// Each thread keeps to its own column.
__global__ void columns(float* data) {
  __shared__ float table[16][16];
  for (int i = 0; i < 16; ++i) table[i][threadIdx.x] = data[i];
  for (int i = 1; i < 16; ++i) {
    for (int j = 0; j < i; ++j) table[i][threadIdx.x] -= data[j] * table[j][threadIdx.x];
  }
}

// Only rows behind i are written, and only rows up to i are read.
__global__ void factor(float* data) {
  __shared__ float table[16][16];
  table[threadIdx.x][0] = data[threadIdx.x];
  for (int i = 0; i < 15; ++i) {
    __syncthreads();
    if (threadIdx.x > i) {
      for (int j = 0; j < i; ++j) table[threadIdx.x][i] -= table[threadIdx.x][j] * table[j][i];
      table[threadIdx.x][i] /= table[i][i];
    }
  }
}
