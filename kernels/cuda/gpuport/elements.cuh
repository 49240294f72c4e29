// Elements whose type is known at run time only: one kernel for every type, where a kernel for each would cost more
// build time than a switch outside the loop costs at run time.
#pragma once

#include "call.hpp"
#include "dispatch.hpp"
#include "memory.cuh"

namespace gp {

template <typename T>
struct ElementType {
  using type = T;
};

using ExactTypes = TypeList<boolean, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                            std::uint32_t, std::uint64_t>;
using FloatTypes = TypeList<float16, bfloat16, float, double>;

// Calls f(ElementType<T>{}) for the type of the list that the dtype names.
template <typename... Ts, typename F>
GP_DEVICE void visit_type(TypeList<Ts...>, DType dtype, F&& f) {
  (void)((kDTypeOf<Ts> == dtype && (f(ElementType<Ts>{}), true)) || ...);
}

// Calls f(i, x) for i from `begin` to `end` in order; the first x is at `first`. Reads up to four at a time: more would
// unroll f too often.
template <typename T, typename F>
GP_DEVICE void for_each_in_order(const T* first, index_t stride, index_t begin, index_t end, F& f) {
  constexpr int kItems = kPackItems<T> < 4 ? kPackItems<T> : 4;
  index_t i = begin;
  if (is_packable(first, stride)) {
    for (; i + kItems <= end; i += kItems) {
      const auto pack = *reinterpret_cast<const Pack<T, kItems>*>(first + (i - begin));
#pragma unroll
      for (int k = 0; k < kItems; ++k) f(i + k, pack.items[k]);
    }
  }
#pragma unroll 1
  for (; i < end; ++i) f(i, first[(i - begin) * stride]);
}

// A matrix of elements of any type.
struct AnyView2 {
  const void* data;
  DType dtype;
  index_t rows, cols;
  index_t row_stride, col_stride;

  // Calls f(col, x) for the columns from `begin` to `end` of a row, in order, whichever type of the list they have.
  template <typename Types, typename F>
  GP_DEVICE void for_each(Types types, index_t row, index_t begin, index_t end, F& f) const {
    visit_type(types, dtype, [&](auto element) {
      using T = typename decltype(element)::type;
      const T* const first = static_cast<const T*>(data) + row * row_stride + begin * col_stride;
      for_each_in_order(first, col_stride, begin, end, f);
    });
  }
};

inline AnyView2 any_input(const Call& call) {
  return {call.in.data, call.in.dtype, call.rows, call.cols, call.in.row_stride, call.in.col_stride};
}

}  // namespace gp
