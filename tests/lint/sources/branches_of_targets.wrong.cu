// What only CUDA compiles may be 32 lanes wide; what all compile may not.
#if defined(GP_TARGET_CUDA)
__device__ unsigned votes(bool keep) { return __ballot_sync(0xffffffffu, keep); }
#elif defined(GP_TARGET_AMD)
__device__ unsigned votes(bool keep) { return __ballot(keep); }  // expect: GPL004
#else
__device__ unsigned long long votes(bool keep) { return __ballot_sync(0xffffffffu, keep); }  // expect: GPL003
#endif
#if 0
__device__ unsigned dead(bool keep) { return __ballot_sync(0xffffffffu, keep); }
#endif
// __shfl_sync(0xffffffff, value, 31) in a comment
const char* text = "__shfl_sync(0xffffffff, value, 31)";
