// Names of cuBLAS, which is not here. Host code that calls it compiles, so that the kernels of its file load; each call
// gives CUBLAS_STATUS_NOT_SUPPORTED.
#pragma once

#include "cuComplex.h"

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
};
using cublasHandle_t = struct cublasHandle_t_of_no_library*;
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32I = 72
};
#include "library_types.h"

#define GPUPORT_SIMT_NO_CUBLAS(name)                                 \
  template <typename... Arguments>                                   \
  cublasStatus_t name(Arguments&&...) {                              \
    (void)gpuport::simt::not_supported(#name, "there is no cuBLAS"); \
    return CUBLAS_STATUS_NOT_SUPPORTED;                              \
  }
GPUPORT_SIMT_NO_CUBLAS(cublasCreate)
GPUPORT_SIMT_NO_CUBLAS(cublasDestroy)
GPUPORT_SIMT_NO_CUBLAS(cublasSetStream)
GPUPORT_SIMT_NO_CUBLAS(cublasGetStream)
GPUPORT_SIMT_NO_CUBLAS(cublasSetPointerMode)
GPUPORT_SIMT_NO_CUBLAS(cublasGetPointerMode)
GPUPORT_SIMT_NO_CUBLAS(cublasSetMathMode)
GPUPORT_SIMT_NO_CUBLAS(cublasGetMathMode)
GPUPORT_SIMT_NO_CUBLAS(cublasGetVersion)
GPUPORT_SIMT_NO_CUBLAS(cublasSetWorkspace)
GPUPORT_SIMT_NO_CUBLAS(cublasSetVector)
GPUPORT_SIMT_NO_CUBLAS(cublasGetVector)
GPUPORT_SIMT_NO_CUBLAS(cublasSetMatrix)
GPUPORT_SIMT_NO_CUBLAS(cublasGetMatrix)
GPUPORT_SIMT_NO_CUBLAS(cublasSetVectorAsync)
GPUPORT_SIMT_NO_CUBLAS(cublasGetVectorAsync)
GPUPORT_SIMT_NO_CUBLAS(cublasSetMatrixAsync)
GPUPORT_SIMT_NO_CUBLAS(cublasGetMatrixAsync)
GPUPORT_SIMT_NO_CUBLAS(cublasHgemm)
GPUPORT_SIMT_NO_CUBLAS(cublasHgemmStridedBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasGemmEx)
GPUPORT_SIMT_NO_CUBLAS(cublasSgemmEx)
GPUPORT_SIMT_NO_CUBLAS(cublasGemmBatchedEx)
GPUPORT_SIMT_NO_CUBLAS(cublasGemmStridedBatchedEx)
GPUPORT_SIMT_NO_CUBLAS(cublasSnrm2)
GPUPORT_SIMT_NO_CUBLAS(cublasDnrm2)
GPUPORT_SIMT_NO_CUBLAS(cublasSasum)
GPUPORT_SIMT_NO_CUBLAS(cublasDasum)
GPUPORT_SIMT_NO_CUBLAS(cublasIsamax)
GPUPORT_SIMT_NO_CUBLAS(cublasIdamax)
GPUPORT_SIMT_NO_CUBLAS(cublasIsamin)
GPUPORT_SIMT_NO_CUBLAS(cublasIdamin)
GPUPORT_SIMT_NO_CUBLAS(cublasDotEx)
GPUPORT_SIMT_NO_CUBLAS(cublasNrm2Ex)
GPUPORT_SIMT_NO_CUBLAS(cublasAxpyEx)
GPUPORT_SIMT_NO_CUBLAS(cublasScalEx)
GPUPORT_SIMT_NO_CUBLAS(cublasSgemm)
GPUPORT_SIMT_NO_CUBLAS(cublasSgemmBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasSgemmStridedBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasSgemv)
GPUPORT_SIMT_NO_CUBLAS(cublasSger)
GPUPORT_SIMT_NO_CUBLAS(cublasStrsm)
GPUPORT_SIMT_NO_CUBLAS(cublasStrsv)
GPUPORT_SIMT_NO_CUBLAS(cublasStrmm)
GPUPORT_SIMT_NO_CUBLAS(cublasSsyrk)
GPUPORT_SIMT_NO_CUBLAS(cublasSsymm)
GPUPORT_SIMT_NO_CUBLAS(cublasSaxpy)
GPUPORT_SIMT_NO_CUBLAS(cublasSscal)
GPUPORT_SIMT_NO_CUBLAS(cublasScopy)
GPUPORT_SIMT_NO_CUBLAS(cublasSswap)
GPUPORT_SIMT_NO_CUBLAS(cublasSdot)
GPUPORT_SIMT_NO_CUBLAS(cublasSgeam)
GPUPORT_SIMT_NO_CUBLAS(cublasSgetrfBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasSgetriBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasSgetrsBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasDgemm)
GPUPORT_SIMT_NO_CUBLAS(cublasDgemmBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasDgemmStridedBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasDgemv)
GPUPORT_SIMT_NO_CUBLAS(cublasDger)
GPUPORT_SIMT_NO_CUBLAS(cublasDtrsm)
GPUPORT_SIMT_NO_CUBLAS(cublasDtrsv)
GPUPORT_SIMT_NO_CUBLAS(cublasDtrmm)
GPUPORT_SIMT_NO_CUBLAS(cublasDsyrk)
GPUPORT_SIMT_NO_CUBLAS(cublasDsymm)
GPUPORT_SIMT_NO_CUBLAS(cublasDaxpy)
GPUPORT_SIMT_NO_CUBLAS(cublasDscal)
GPUPORT_SIMT_NO_CUBLAS(cublasDcopy)
GPUPORT_SIMT_NO_CUBLAS(cublasDswap)
GPUPORT_SIMT_NO_CUBLAS(cublasDdot)
GPUPORT_SIMT_NO_CUBLAS(cublasDgeam)
GPUPORT_SIMT_NO_CUBLAS(cublasDgetrfBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasDgetriBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasDgetrsBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasCgemm)
GPUPORT_SIMT_NO_CUBLAS(cublasCgemmBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasCgemmStridedBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasCgemv)
GPUPORT_SIMT_NO_CUBLAS(cublasCgeru)
GPUPORT_SIMT_NO_CUBLAS(cublasCtrsm)
GPUPORT_SIMT_NO_CUBLAS(cublasCtrsv)
GPUPORT_SIMT_NO_CUBLAS(cublasCtrmm)
GPUPORT_SIMT_NO_CUBLAS(cublasCsyrk)
GPUPORT_SIMT_NO_CUBLAS(cublasCsymm)
GPUPORT_SIMT_NO_CUBLAS(cublasCaxpy)
GPUPORT_SIMT_NO_CUBLAS(cublasCscal)
GPUPORT_SIMT_NO_CUBLAS(cublasCcopy)
GPUPORT_SIMT_NO_CUBLAS(cublasCswap)
GPUPORT_SIMT_NO_CUBLAS(cublasCdotu)
GPUPORT_SIMT_NO_CUBLAS(cublasCgeam)
GPUPORT_SIMT_NO_CUBLAS(cublasCgetrfBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasCgetriBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasCgetrsBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasZgemm)
GPUPORT_SIMT_NO_CUBLAS(cublasZgemmBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasZgemmStridedBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasZgemv)
GPUPORT_SIMT_NO_CUBLAS(cublasZgeru)
GPUPORT_SIMT_NO_CUBLAS(cublasZtrsm)
GPUPORT_SIMT_NO_CUBLAS(cublasZtrsv)
GPUPORT_SIMT_NO_CUBLAS(cublasZtrmm)
GPUPORT_SIMT_NO_CUBLAS(cublasZsyrk)
GPUPORT_SIMT_NO_CUBLAS(cublasZsymm)
GPUPORT_SIMT_NO_CUBLAS(cublasZaxpy)
GPUPORT_SIMT_NO_CUBLAS(cublasZscal)
GPUPORT_SIMT_NO_CUBLAS(cublasZcopy)
GPUPORT_SIMT_NO_CUBLAS(cublasZswap)
GPUPORT_SIMT_NO_CUBLAS(cublasZdotu)
GPUPORT_SIMT_NO_CUBLAS(cublasZgeam)
GPUPORT_SIMT_NO_CUBLAS(cublasZgetrfBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasZgetriBatched)
GPUPORT_SIMT_NO_CUBLAS(cublasZgetrsBatched)
#undef GPUPORT_SIMT_NO_CUBLAS

inline const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "cuBLAS is not supported on the CPU backend";
}
inline const char* cublasGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_NOT_SUPPORTED";
}
