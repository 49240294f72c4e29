// Where __CUDA_ARCH__ is not defined, the kernel does nothing and the pre-Volta vote is taken.
__global__ void visit(int* p) {
#if __CUDA_ARCH__ >= 700  // expect: GPL019
  *p = 1;
#endif
}
__device__ int vote(int x) {
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 700)  // expect: GPL019
  return x;
#elif (__CUDA_ARCH__ < 600)  // expect: GPL019
  return x + 1;
#endif
}
