// reduce.compensated: float sums whose error does not grow with the number of elements.
// Every addition is followed by its own rounding error, which is a double again (Knuth's two-sum), and the errors are
// summed beside (Ogita, Rump and Oishi, "Accurate sum and dot product", 2005). All types are added in double and
// rounded to the result once, also where that is f16 or bf16. NaN and infinities live in the plain sum, where they
// propagate as in any sum; the errors beside it are NaN then, and are left out. Reads each element once; one kernel
// takes every type; see gpuport/fold_in_order.cuh, whose order depends on the shape alone, so results repeat bit for
// bit.
#include <gpuport/elements.cuh>
#include <gpuport/fold_in_order.cuh>

namespace gp::reduce {

using CompensatedTypes = decltype(ExactTypes{} + FloatTypes{});

struct TwoSum {
  struct State {
    double sum, error;

    GP_DEVICE void push(double x) {
      const double next = sum + x, added = next - sum;
      error += (sum - (next - added)) + (x - added);
      sum = next;
    }
    // One element more at the right.
    template <typename T>
    GP_DEVICE void operator()(index_t, T x) {
      if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>) {
        // 64 bits do not fit a double: both halves do, of which the upper has the sign.
        push(double(x >> 32) * 0x1p32);
        push(double(x & 0xffffffff));
      } else if constexpr (kIsReducedFloat<T>) {
        push(double(float(x)));
      } else {
        push(double(x));
      }
    }
  };
  static GP_DEVICE State identity() { return {0, 0}; }
  static GP_DEVICE State combine(State a, const State& b) {
    a.push(b.sum);
    a.error += b.error;
    return a;
  }
};

struct CompensatedRows : AnyView2 {
  GP_DEVICE TwoSum::State fold(index_t row, index_t begin, index_t end) const {
    TwoSum::State state = TwoSum::identity();
    for_each(CompensatedTypes{}, row, begin, end, state);
    return state;
  }
};

// Of a value known as `rounded` and the sign of what rounding left out: the neighbour whose last bit is odd, unless
// `rounded` was exact. A second, narrower rounding to nearest then gives what one rounding would have given.
template <typename Bits, typename T>
GP_DEVICE T to_odd(T rounded, bool exact, bool farther_from_zero) {
  const Bits bits = bit_cast<Bits>(rounded);
  return exact || (bits & 1) != 0 ? rounded : bit_cast<T>(farther_from_zero ? bits + 1 : bits - 1);
}

struct CompensatedSums {
  void* data;
  DType dtype;
  index_t stride;

  GP_DEVICE void write(index_t row, const TwoSum::State& state) const {
    // x - x is 0 for finite x only. Two-sum itself may overflow next to the largest double.
    TwoSum::State total{state.sum, 0};
    if (state.sum - state.sum == 0 && state.error - state.error == 0) total.push(state.error);
    const double sum = total.sum;
    if (dtype == DType::kF64) {
      static_cast<double*>(data)[row * stride] = sum;
      return;
    }
    const bool is_finite = sum - sum == 0;
    const double left_out = is_finite ? total.error : 0;
    const double odd = to_odd<std::uint64_t>(sum, left_out == 0, (left_out > 0) == (sum > 0));
    const float narrow = float(odd);
    if (dtype == DType::kF32) {
      static_cast<float*>(data)[row * stride] = narrow;
      return;
    }
    const double magnitude = odd < 0 ? -odd : odd, kept = narrow < 0 ? -double(narrow) : double(narrow);
    const float odd_narrow = to_odd<std::uint32_t>(narrow, !is_finite || kept == magnitude, magnitude > kept);
    if (dtype == DType::kF16) {
      static_cast<float16*>(data)[row * stride] = float16(odd_narrow);
    } else {
      static_cast<bfloat16*>(data)[row * stride] = bfloat16(odd_narrow);
    }
  }
};

void compensated(const Call& call) {
  const DType to = call.out.dtype;
  if (to != DType::kF16 && to != DType::kBF16 && to != DType::kF32 && to != DType::kF64) {
    fail(ErrorKind::kValue, call.name, " writes floats, not ", dtype_name(to));
  }
  const CompensatedRows rows{any_input(call)};
  const CompensatedSums sums{call.out.data, to, call.out.row_stride};
  visit_width(call, [&]<int kWarp>() { fold_in_order<kWarp, TwoSum>(call, rows, sums); });
}

}  // namespace gp::reduce
