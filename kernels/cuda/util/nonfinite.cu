// The first NaN or infinity of an array: every thread keeps the lowest index that it saw, one atomic minimum a thread
// at most.
#include "elementwise.hpp"

namespace gp::util {

using Found = unsigned long long;  // the type of the atomic; all ones where nothing was found
constexpr Found kNothing = ~Found(0);

template <typename T>
GP_KERNEL nonfinite_kernel(Walk<1> walk, const T* src, Found* first) {
  const index_t step = index_t(gridDim.x) * blockDim.x;
  for (index_t i = index_t(blockIdx.x) * blockDim.x + threadIdx.x; i < walk.count; i += step) {
    index_t offsets[1];
    walk.offsets(i, offsets);
    const Accum<T> x = Accum<T>(src[offsets[0]]);
    if (x - x != Accum<T>(0)) {  // NaN for both
      atomicMin(first, Found(i));
      return;  // later elements of this thread have higher indices
    }
  }
}

index_t first_nonfinite(const Shape& shape, const Strided& src, int device, cudaStream_t stream) {
  const Walk<1> walk = walk_of<1>(shape, {&src});
  const DeviceScope scope(device);
  const Call call = utility_call("util.nonfinite", device, stream);
  if (is_capturing(stream)) {
    fail(ErrorKind::kRuntime, "nonfinite=\"raise\" has to wait for the device, which graph capture forbids");
  }
  const Workspace workspace(call, sizeof(Found));
  Found* const first = workspace.data<Found>();
  check(cudaMemsetAsync(first, 0xff, sizeof(Found), stream), "clearing the search result");
  const auto search = [&]<typename... Ts>(TypeList<Ts...>) {
    return ((kDTypeOf<Ts> == src.dtype && (launch(nonfinite_kernel<Ts>, call, elementwise_grid(walk.count), walk,
                                                  static_cast<const Ts*>(src.data), first),
                                           true)) ||
            ...);
  };
  if (!search(TypeList<float16, bfloat16, float, double>{})) return -1;  // integers are finite
  Found found = kNothing;
  check(cudaMemcpyAsync(&found, first, sizeof(Found), cudaMemcpyDeviceToHost, stream), "reading the search result");
  check(cudaStreamSynchronize(stream), "searching for non-finite values");
  return found == kNothing ? -1 : index_t(found);
}

}  // namespace gp::util
