// Thrust is not here. A file that includes it loads, as long as it uses nothing of it: any use is an error that says
// so.
#pragma once

#define thrust                                                                                          \
  _Pragma("GCC error \"the CPU backend has no thrust (<thrust/...>): call kernels, or load for cuda\"") \
      gpuport_missing_thrust

namespace gpuport_missing_thrust {}
