// nvcuda::wmma is not here. A file that includes it loads, as long as it uses nothing of it: any use is an error that
// says so.
#pragma once

#define nvcuda                                                                                                    \
  _Pragma("GCC error \"the CPU backend has no nvcuda::wmma (<mma.h>): write the product out, or load for cuda\"") \
      gpuport_missing_nvcuda

namespace gpuport_missing_nvcuda {}
