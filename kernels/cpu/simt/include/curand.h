// Names of cuRAND's host library, which is not here. Host code that calls it compiles, so that the kernels of its file
// load; each call gives CURAND_STATUS_INITIALIZATION_FAILED.
#pragma once

#include "cuda_runtime.h"
#include "gpuport_simt/absent.h"

enum curandStatus_t {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_INTERNAL_ERROR = 999
};
using curandGenerator_t = struct curandGenerator_t_of_no_library*;
enum curandRngType_t {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201
};
using curandRngType = curandRngType_t;
enum curandOrdering_t {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_PSEUDO_DEFAULT = 101,
  CURAND_ORDERING_PSEUDO_SEEDED = 102
};

#define GPUPORT_SIMT_NO_CURAND(name) \
  GPUPORT_SIMT_ABSENT(curandStatus_t, CURAND_STATUS_INITIALIZATION_FAILED, name, "there is no cuRAND's host library")
GPUPORT_SIMT_NO_CURAND(curandCreateGenerator)
GPUPORT_SIMT_NO_CURAND(curandCreateGeneratorHost)
GPUPORT_SIMT_NO_CURAND(curandDestroyGenerator)
GPUPORT_SIMT_NO_CURAND(curandSetStream)
GPUPORT_SIMT_NO_CURAND(curandSetPseudoRandomGeneratorSeed)
GPUPORT_SIMT_NO_CURAND(curandSetGeneratorOffset)
GPUPORT_SIMT_NO_CURAND(curandSetGeneratorOrdering)
GPUPORT_SIMT_NO_CURAND(curandGenerate)
GPUPORT_SIMT_NO_CURAND(curandGenerateLongLong)
GPUPORT_SIMT_NO_CURAND(curandGenerateUniform)
GPUPORT_SIMT_NO_CURAND(curandGenerateUniformDouble)
GPUPORT_SIMT_NO_CURAND(curandGenerateNormal)
GPUPORT_SIMT_NO_CURAND(curandGenerateNormalDouble)
GPUPORT_SIMT_NO_CURAND(curandGenerateLogNormal)
GPUPORT_SIMT_NO_CURAND(curandGenerateLogNormalDouble)
GPUPORT_SIMT_NO_CURAND(curandGeneratePoisson)
GPUPORT_SIMT_NO_CURAND(curandGenerateSeeds)
GPUPORT_SIMT_NO_CURAND(curandGetVersion)
#undef GPUPORT_SIMT_NO_CURAND
