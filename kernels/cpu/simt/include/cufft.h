// Names of cuFFT, which is not here. Host code that calls it compiles, so that the kernels of its file load; each call
// gives CUFFT_NOT_SUPPORTED.
#pragma once

#include "cuComplex.h"
#include "gpuport_simt/absent.h"

enum cufftResult {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_NOT_SUPPORTED = 16
};
using cufftHandle = int;
using cufftReal = float;
using cufftDoubleReal = double;
using cufftComplex = cuComplex;
using cufftDoubleComplex = cuDoubleComplex;
enum cufftType {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69
};
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1

#define GPUPORT_SIMT_NO_CUFFT(name) GPUPORT_SIMT_ABSENT(cufftResult, CUFFT_NOT_SUPPORTED, name, "there is no cuFFT")
GPUPORT_SIMT_NO_CUFFT(cufftPlan1d)
GPUPORT_SIMT_NO_CUFFT(cufftPlan2d)
GPUPORT_SIMT_NO_CUFFT(cufftPlan3d)
GPUPORT_SIMT_NO_CUFFT(cufftPlanMany)
GPUPORT_SIMT_NO_CUFFT(cufftMakePlan1d)
GPUPORT_SIMT_NO_CUFFT(cufftMakePlan2d)
GPUPORT_SIMT_NO_CUFFT(cufftMakePlan3d)
GPUPORT_SIMT_NO_CUFFT(cufftMakePlanMany)
GPUPORT_SIMT_NO_CUFFT(cufftCreate)
GPUPORT_SIMT_NO_CUFFT(cufftDestroy)
GPUPORT_SIMT_NO_CUFFT(cufftSetStream)
GPUPORT_SIMT_NO_CUFFT(cufftExecC2C)
GPUPORT_SIMT_NO_CUFFT(cufftExecR2C)
GPUPORT_SIMT_NO_CUFFT(cufftExecC2R)
GPUPORT_SIMT_NO_CUFFT(cufftExecZ2Z)
GPUPORT_SIMT_NO_CUFFT(cufftExecD2Z)
GPUPORT_SIMT_NO_CUFFT(cufftExecZ2D)
GPUPORT_SIMT_NO_CUFFT(cufftEstimate1d)
GPUPORT_SIMT_NO_CUFFT(cufftGetSize)
GPUPORT_SIMT_NO_CUFFT(cufftSetWorkArea)
GPUPORT_SIMT_NO_CUFFT(cufftSetAutoAllocation)
GPUPORT_SIMT_NO_CUFFT(cufftGetVersion)
#undef GPUPORT_SIMT_NO_CUFFT
