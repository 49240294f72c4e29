// Copies that CUDA makes in the background. Here each is made at once, by the threads that ask for it; what waits for
// one only has to wait for these threads.
#pragma once

#include <cstring>

#include "../cuda_runtime.h"

namespace gpuport::simt {

// Thread `rank` of `count` copies its part, in pieces of 16 bytes.
inline void copy_share(void* to, const void* from, std::size_t bytes, std::size_t rank, std::size_t count) {
  constexpr std::size_t kPiece = 16;
  for (std::size_t at = rank * kPiece; at < bytes; at += count * kPiece)
    std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
                bytes - at < kPiece ? bytes - at : kPiece);
}

}  // namespace gpuport::simt
