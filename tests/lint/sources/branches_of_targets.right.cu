#ifdef __HIP_PLATFORM_AMD__
using lane_mask = unsigned long long;
__device__ lane_mask votes(bool keep) { return __ballot(keep); }
#else
using lane_mask = unsigned;
#endif
#if defined(GP_TARGET_CUDA)
__device__ lane_mask votes(bool keep) { return __ballot_sync(0xffffffffu, keep); }
#endif
