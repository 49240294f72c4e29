// Helpers of the Python layer that are kernels but no primitives: strided copies and the search for non-finite values.
#pragma once

#include <gpuport/call.hpp>

namespace gp::util {

inline constexpr int kMaxDims = 32;

// Any number of dimensions up to kMaxDims, strides in elements, zero and negative ones included.
struct Strided {
  void* data;
  DType dtype;
  index_t strides[kMaxDims];
};
struct Shape {
  int dims;
  index_t sizes[kMaxDims];
};

// dst = src, element by element. The dtypes are equal, or any integer type or bool to float64 or int64 (which wraps).
void copy(const Shape& shape, const Strided& src, const Strided& dst, int device, cudaStream_t stream);

// The C-order index of the first NaN or infinity, -1 if there is none. Waits for the stream; Error(kRuntime) while the
// stream is being captured.
index_t first_nonfinite(const Shape& shape, const Strided& src, int device, cudaStream_t stream);

// The fastest copy of device memory that does not overlap.
void copy_bytes(void* dst, const void* src, std::size_t bytes, int device, cudaStream_t stream);

}  // namespace gp::util
