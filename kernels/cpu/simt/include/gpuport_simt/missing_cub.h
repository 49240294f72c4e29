// CUB is not here. A file that includes it loads, as long as it uses nothing of it: any use is an error that says so.
#pragma once

#define cub                                                                                                 \
  _Pragma("GCC error \"the CPU backend has no cub (<cub/...>): write it with shuffles, or load for cuda\"") \
      gpuport_missing_cub

namespace gpuport_missing_cub {}
