// Names of cuSOLVER, which is not here. Host code that calls it compiles, so that the kernels of its file load; each
// call gives CUSOLVER_STATUS_NOT_SUPPORTED.
#pragma once

#include "cuComplex.h"

enum cusolverStatus_t {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_NOT_INITIALIZED = 1,
  CUSOLVER_STATUS_ALLOC_FAILED = 2,
  CUSOLVER_STATUS_INVALID_VALUE = 3,
  CUSOLVER_STATUS_EXECUTION_FAILED = 6,
  CUSOLVER_STATUS_INTERNAL_ERROR = 7,
  CUSOLVER_STATUS_NOT_SUPPORTED = 9
};
using cusolverDnHandle_t = struct cusolverDnHandle_t_of_no_library*;
using gesvdjInfo_t = struct gesvdjInfo_t_of_no_library*;
enum cusolverEigMode_t { CUSOLVER_EIG_MODE_NOVECTOR = 0, CUSOLVER_EIG_MODE_VECTOR = 1 };
#include "cublas_v2.h"

#define GPUPORT_SIMT_NO_CUSOLVERDN(name)                               \
  template <typename... Arguments>                                     \
  cusolverStatus_t name(Arguments&&...) {                              \
    (void)gpuport::simt::not_supported(#name, "there is no cuSOLVER"); \
    return CUSOLVER_STATUS_NOT_SUPPORTED;                              \
  }
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCreate)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDestroy)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSetStream)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSpotrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSpotrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSpotrs)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgetrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgetrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgetrs)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgeqrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgeqrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgesvd_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgesvd)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgesvdj_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSgesvdj)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDpotrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDpotrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDpotrs)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgetrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgetrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgetrs)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgeqrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgeqrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgesvd_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgesvd)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgesvdj_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDgesvdj)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCpotrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCpotrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCpotrs)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgetrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgetrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgetrs)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgeqrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgeqrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgesvd_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgesvd)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgesvdj_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCgesvdj)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZpotrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZpotrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZpotrs)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgetrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgetrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgetrs)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgeqrf_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgeqrf)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgesvd_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgesvd)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgesvdj_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnZgesvdj)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSsyevd_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSsyevd)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDsyevd_bufferSize)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDsyevd)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnSormqr)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDormqr)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnCreateGesvdjInfo)
GPUPORT_SIMT_NO_CUSOLVERDN(cusolverDnDestroyGesvdjInfo)
#undef GPUPORT_SIMT_NO_CUSOLVERDN
