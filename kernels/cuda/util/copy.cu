// Strided, converting copy: one thread an element, the last dimension fastest.
// Python packs with it what no kernel can read as rows x columns, and scatters results into arrays that are laid out
// oddly.
#include "elementwise.hpp"

namespace gp::util {

template <typename From, typename To>
GP_KERNEL copy_kernel(Walk<2> walk, const From* src, To* dst) {
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t i = index_t(blockIdx.x) * blockDim.x + threadIdx.x; i < walk.count; i += step) {
    index_t offsets[2];
    walk.offsets(i, offsets);
    dst[offsets[1]] = To(src[offsets[0]]);
  }
}

namespace {

template <typename From, typename To>
void launch_copy(const Walk<2>& walk, const Strided& src, const Strided& dst, const Call& call) {
  launch(copy_kernel<From, To>, call, elementwise_grid(walk.count), walk, static_cast<const From*>(src.data),
         static_cast<To*>(dst.data));
}

// Same dtype: only the size matters.
void copy_bits(const Walk<2>& walk, const Strided& src, const Strided& dst, const Call& call) {
  switch (dtype_size(src.dtype)) {
    case 1:
      return launch_copy<std::uint8_t, std::uint8_t>(walk, src, dst, call);
    case 2:
      return launch_copy<std::uint16_t, std::uint16_t>(walk, src, dst, call);
    case 4:
      return launch_copy<std::uint32_t, std::uint32_t>(walk, src, dst, call);
    default:
      return launch_copy<std::uint64_t, std::uint64_t>(walk, src, dst, call);
  }
}

template <typename To, typename... From>
bool convert(TypeList<From...>, const Walk<2>& walk, const Strided& src, const Strided& dst, const Call& call) {
  return kDTypeOf<To> == dst.dtype &&
         ((kDTypeOf<From> == src.dtype && (launch_copy<From, To>(walk, src, dst, call), true)) || ...);
}

using Integers = TypeList<boolean, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                          std::uint32_t, std::uint64_t>;

}  // namespace

void copy(const Shape& shape, const Strided& src, const Strided& dst, int device, cudaStream_t stream) {
  const Walk<2> walk = walk_of<2>(shape, {&src, &dst});
  const DeviceScope scope(device);
  const Call call = utility_call("util.copy", device, stream);
  if (src.dtype == dst.dtype) return copy_bits(walk, src, dst, call);
  if (convert<double>(Integers{}, walk, src, dst, call)) return;
  if (convert<std::int64_t>(Integers{}, walk, src, dst, call)) return;
  fail(ErrorKind::kValue, "no copy from ", dtype_name(src.dtype), " to ", dtype_name(dst.dtype));
}

}  // namespace gp::util
