// The SIMT machine as translated code sees it. cuda_runtime.h includes this; nothing else needs to.
#pragma once

#include "gpuport_simt/types.h"
#include "gpuport_simt/machine.h"
#include "gpuport_simt/launch.h"

extern "C" {
// What the calling thread's last failed launch had to say; empty after one that succeeded, unless the
// failure has not been read (cudaGetLastError).
GPUPORT_SIMT_RUNTIME const char* gpuport_simt_last_error_detail();
// As the environment variable GPUPORT_SIMT_SEED, for launches from now on; a negative seed means the natural order.
GPUPORT_SIMT_RUNTIME void gpuport_simt_set_seed(long long seed);
}
