// Names of cuSPARSE, which is not here. Host code that calls it compiles, so that the kernels of its file load; each
// call gives CUSPARSE_STATUS_NOT_SUPPORTED.
#pragma once

#include "cuComplex.h"
#include "gpuport_simt/absent.h"

enum cusparseStatus_t {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10
};
using cusparseHandle_t = struct cusparseHandle_t_of_no_library*;
using cusparseMatDescr_t = struct cusparseMatDescr_t_of_no_library*;
using cusparseSpMatDescr_t = struct cusparseSpMatDescr_t_of_no_library*;
using cusparseDnMatDescr_t = struct cusparseDnMatDescr_t_of_no_library*;
using cusparseDnVecDescr_t = struct cusparseDnVecDescr_t_of_no_library*;
using cusparseSpVecDescr_t = struct cusparseSpVecDescr_t_of_no_library*;
using cusparseSpSVDescr_t = struct cusparseSpSVDescr_t_of_no_library*;
enum cusparseOperation_t {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
};
enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 };
enum cusparseMatrixType_t { CUSPARSE_MATRIX_TYPE_GENERAL = 0, CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1 };
enum cusparseIndexType_t { CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 };
enum cusparseOrder_t { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 };
enum cusparseSpMVAlg_t { CUSPARSE_SPMV_ALG_DEFAULT = 0, CUSPARSE_SPMV_CSR_ALG1 = 2, CUSPARSE_SPMV_CSR_ALG2 = 3 };
enum cusparseSpMMAlg_t { CUSPARSE_SPMM_ALG_DEFAULT = 0, CUSPARSE_SPMM_CSR_ALG1 = 4, CUSPARSE_SPMM_CSR_ALG2 = 6 };
#include "library_types.h"

#define GPUPORT_SIMT_NO_CUSPARSE(name) \
  GPUPORT_SIMT_ABSENT(cusparseStatus_t, CUSPARSE_STATUS_NOT_SUPPORTED, name, "there is no cuSPARSE")
GPUPORT_SIMT_NO_CUSPARSE(cusparseCreate)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDestroy)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSetStream)
GPUPORT_SIMT_NO_CUSPARSE(cusparseGetVersion)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSetPointerMode)
GPUPORT_SIMT_NO_CUSPARSE(cusparseCreateCsr)
GPUPORT_SIMT_NO_CUSPARSE(cusparseCreateCoo)
GPUPORT_SIMT_NO_CUSPARSE(cusparseCreateCsc)
GPUPORT_SIMT_NO_CUSPARSE(cusparseCreateDnVec)
GPUPORT_SIMT_NO_CUSPARSE(cusparseCreateDnMat)
GPUPORT_SIMT_NO_CUSPARSE(cusparseCreateSpVec)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDestroySpMat)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDestroyDnVec)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDestroyDnMat)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDestroySpVec)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpMV_bufferSize)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpMV)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpMV_preprocess)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpMM_bufferSize)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpMM)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpSV_createDescr)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpSV_destroyDescr)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpSV_bufferSize)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpSV_analysis)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSpSV_solve)
GPUPORT_SIMT_NO_CUSPARSE(cusparseCreateMatDescr)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDestroyMatDescr)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSetMatType)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSetMatIndexBase)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDenseToSparse_bufferSize)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDenseToSparse_analysis)
GPUPORT_SIMT_NO_CUSPARSE(cusparseDenseToSparse_convert)
GPUPORT_SIMT_NO_CUSPARSE(cusparseSparseToDense)
GPUPORT_SIMT_NO_CUSPARSE(cusparseXcoo2csr)
GPUPORT_SIMT_NO_CUSPARSE(cusparseXcsr2coo)
#undef GPUPORT_SIMT_NO_CUSPARSE
