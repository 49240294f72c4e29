// Host and device, or two files, come to different widths for the same GPU.
#if defined(__GFX9__)
#define WARP_SIZE 64
#else
#define WARP_SIZE 32  // expect: GPL017
#endif

__device__ int lane() { return threadIdx.x % WARP_SIZE; }
__device__ int lanes() { return __AMDGCN_WAVEFRONT_SIZE; }  // expect: GPL017
