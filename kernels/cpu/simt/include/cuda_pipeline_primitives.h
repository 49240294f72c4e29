// Asynchronous copies of one thread. A copy is made at once, so there is nothing to wait for.
#pragma once

#include "gpuport_simt/copies.h"

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros = 0) {
  std::memcpy(to, from, bytes - zeros);
  std::memset(static_cast<char*>(to) + (bytes - zeros), 0, zeros);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(std::size_t) {}
