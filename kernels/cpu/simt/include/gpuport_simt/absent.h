// A host function of something that is not here, with any arguments: it says why and returns a status.
#pragma once

#define GPUPORT_SIMT_ABSENT(Status, status, name, why) \
  template <typename... Arguments>                     \
  Status name(Arguments&&...) {                        \
    (void)gpuport::simt::not_supported(#name, why);    \
    return status;                                     \
  }
