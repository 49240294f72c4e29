// Names of CUDA's interoperation with OpenGL, which this machine has not.
#pragma once

#include "cuda_runtime.h"

enum cudaGLDeviceList { cudaGLDeviceListAll = 1, cudaGLDeviceListCurrentFrame = 2, cudaGLDeviceListNextFrame = 3 };

#define GPUPORT_SIMT_NO_GL(name)                                                          \
  template <typename... Arguments>                                                        \
  cudaError_t name(Arguments&&...) {                                                      \
    return gpuport::simt::not_supported(#name, "there is no interoperation with OpenGL"); \
  }
GPUPORT_SIMT_NO_GL(cudaGLGetDevices)
GPUPORT_SIMT_NO_GL(cudaGraphicsGLRegisterBuffer)
GPUPORT_SIMT_NO_GL(cudaGraphicsGLRegisterImage)
GPUPORT_SIMT_NO_GL(cudaGLSetGLDevice)
GPUPORT_SIMT_NO_GL(cudaGLRegisterBufferObject)
GPUPORT_SIMT_NO_GL(cudaGLMapBufferObject)
GPUPORT_SIMT_NO_GL(cudaGLUnmapBufferObject)
GPUPORT_SIMT_NO_GL(cudaGLUnregisterBufferObject)
#undef GPUPORT_SIMT_NO_GL
