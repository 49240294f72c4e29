// Copies device memory as fast as one kernel can: one 16-byte access a thread, each thread once.
// No primitive: benchmarks take it for the ceiling, because it moves what a memory-bound kernel must move and no more.
#include "elementwise.hpp"

namespace gp::util {

constexpr int kCopyThreads = 256;

GP_KERNEL copy_bytes_kernel(const std::uint8_t* src, std::uint8_t* dst, index_t packs, index_t bytes) {
  const index_t i = index_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < packs) {
    store_pack(dst + i * kVectorBytes, load_pack(src + i * kVectorBytes));
  } else if (const index_t at = packs * kVectorBytes + (i - packs); at < bytes) {
    dst[at] = src[at];
  }
}

void copy_bytes(void* dst, const void* src, std::size_t bytes, int device, cudaStream_t stream) {
  const DeviceScope scope(device);
  const Call call = utility_call("util.copy_bytes", device, stream);
  const bool aligned =
      (reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src)) % kVectorBytes == 0;
  const index_t packs = aligned ? index_t(bytes) / kVectorBytes : 0;
  const index_t threads = packs + (index_t(bytes) - packs * kVectorBytes);
  const index_t blocks = ceil_div(threads, kCopyThreads);
  if (blocks > kMaxBlocks) fail(ErrorKind::kValue, "too many bytes for one copy");
  launch(copy_bytes_kernel, call, Grid{blocks, kCopyThreads}, static_cast<const std::uint8_t*>(src),
         static_cast<std::uint8_t*>(dst), packs, index_t(bytes));
}

}  // namespace gp::util
