// Strided, converting copy: one thread an element, the last dimension fastest.
// Python packs with it what no kernel can read as rows x columns, and scatters results into arrays that are laid out
// oddly.
#include <gpuport/elements.cuh>

#include "elementwise.hpp"

namespace gp::util {

template <typename T>
GP_KERNEL copy_kernel(Walk<2> walk, const T* src, T* dst) {
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t i = index_t(blockIdx.x) * blockDim.x + threadIdx.x; i < walk.count; i += step) {
    index_t offsets[2];
    walk.offsets(i, offsets);
    dst[offsets[1]] = src[offsets[0]];
  }
}

// From integers and bool. The walk takes longer than to ask for the type of each element.
template <typename To>
GP_KERNEL convert_kernel(Walk<2> walk, const void* src, DType from, To* dst) {
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t i = index_t(blockIdx.x) * blockDim.x + threadIdx.x; i < walk.count; i += step) {
    index_t offsets[2];
    walk.offsets(i, offsets);
    visit_type(ExactTypes{}, from, [&](auto element) {
      using From = typename decltype(element)::type;
      dst[offsets[1]] = To(static_cast<const From*>(src)[offsets[0]]);
    });
  }
}

namespace {

template <typename T>
void launch_copy(const Walk<2>& walk, const Strided& src, const Strided& dst, const Call& call) {
  launch(copy_kernel<T>, call, elementwise_grid(walk.count), walk, static_cast<const T*>(src.data),
         static_cast<T*>(dst.data));
}

// Same dtype: only the size matters.
void copy_bits(const Walk<2>& walk, const Strided& src, const Strided& dst, const Call& call) {
  switch (dtype_size(src.dtype)) {
    case 1:
      return launch_copy<std::uint8_t>(walk, src, dst, call);
    case 2:
      return launch_copy<std::uint16_t>(walk, src, dst, call);
    case 4:
      return launch_copy<std::uint32_t>(walk, src, dst, call);
    default:
      return launch_copy<std::uint64_t>(walk, src, dst, call);
  }
}

template <typename To>
void convert(const Walk<2>& walk, const Strided& src, const Strided& dst, const Call& call) {
  launch(convert_kernel<To>, call, elementwise_grid(walk.count), walk, static_cast<const void*>(src.data), src.dtype,
         static_cast<To*>(dst.data));
}

bool is_exact(DType dtype) { return dtype <= DType::kU64; }
static_assert(DType::kBool < DType::kU64 && DType::kU64 < DType::kF16);

}  // namespace

void copy(const Shape& shape, const Strided& src, const Strided& dst, int device, cudaStream_t stream) {
  const Walk<2> walk = walk_of<2>(shape, {&src, &dst});
  const DeviceScope scope(device);
  const Call call = utility_call("util.copy", device, stream);
  if (src.dtype == dst.dtype) return copy_bits(walk, src, dst, call);
  if (is_exact(src.dtype)) {
    if (dst.dtype == DType::kF64) return convert<double>(walk, src, dst, call);
    if (dst.dtype == DType::kI64) return convert<std::int64_t>(walk, src, dst, call);
  }
  fail(ErrorKind::kValue, "no copy from ", dtype_name(src.dtype), " to ", dtype_name(dst.dtype));
}

}  // namespace gp::util
