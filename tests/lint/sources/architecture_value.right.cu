// The target is asked for first; whether there is an architecture at all may be asked anywhere.
__global__ void visit(int* p) {
#if defined(GP_TARGET_CUDA) && __CUDA_ARCH__ < 700
  *p = 2;
#else
  *p = 1;
#endif
}
#if defined(GP_TARGET_CUDA)
#if __CUDA_ARCH__ >= 900
__device__ int wide;
#endif
#endif
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 700)
#error "not for Pascal"
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ int cluster;
#endif
__host__ __device__ int where() {
#ifdef __CUDA_ARCH__
  return 1;
#elif !defined(__CUDA_ARCH__)
  return 0;
#endif
}
