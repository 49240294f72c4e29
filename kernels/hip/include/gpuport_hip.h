// What CUDA code uses and HIP lacks or calls otherwise. gpuport.load, gpuport build and gpuport_add_module include it
// before the translated source; others may.
#pragma once

#if !defined(__HIPCC_RTC__)  // hiprtc has the runtime's header built in
#include <hip/hip_runtime.h>
#endif

#if defined(__HIP_PLATFORM_AMD__) || defined(__HIPCC_RTC__)
// In this order: votes and shuffles first.
#include "gpuport_hip/warp.h"

#include "gpuport_hip/extremes.h"
#include "gpuport_hip/matching.h"
#include "gpuport_hip/memory.h"
#if !defined(__HIPCC_RTC__) && !defined(HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COOPERATIVE_GROUPS_H)
#include "gpuport_hip/group_reduce.h"
#endif
#endif
