// CUDA's runtime and device functions for a host compiler: the SIMT machine of kernels/cpu/ executes the kernels.
#pragma once

// nvcc includes these by itself, so sources do without.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpuport_simt.h"
#include "cuda_runtime_api.h"
#include "gpuport_simt/block_ops.h"
#include "gpuport_simt/warp_ops.h"
#include "gpuport_simt/atomics.h"
#include "gpuport_simt/intrinsics.h"
#include "gpuport_simt/math.h"
#include "gpuport_simt/simd_video.h"
#include "gpuport_simt/textures.h"
#include "gpuport_simt/device_assert.h"
