// The lint does not stop at the first function: this one is wrong, all of the twin is right.
__global__ void wrong(int* data) {
  if (threadIdx.x == 0) __syncthreads();  // expect: GPL009
}
