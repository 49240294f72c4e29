// Data types by which CUDA's libraries are told what a pointer points to.
#pragma once

enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_C_32F = 4,
  CUDA_C_64F = 5,
  CUDA_C_16F = 6,
  CUDA_R_8U = 8,
  CUDA_R_32I = 10,
  CUDA_R_32U = 12,
  CUDA_R_16BF = 14,
  CUDA_R_64I = 24,
  CUDA_R_8F_E4M3 = 28,
  CUDA_R_8F_E5M2 = 29
};
using cudaDataType = cudaDataType_t;
