// reduce.checked: integer sums that say where a running sum leaves the accumulator, int64 or uint64.
// The state of a stretch is its total and the least and greatest of its prefixes, the empty one included, in 128 bits:
// 2^63 elements of 64 bits fit. Two neighbours combine in order, so any tree decides what a loop from left to right
// would see, also where a later element brings the total back. Reads each element once, see gpuport/fold_in_order.cuh;
// one kernel takes every integer type. Writes the sum, wrapped, and for each row whether it overflowed.
#include <gpuport/elements.cuh>
#include <gpuport/fold_in_order.cuh>

namespace gp::reduce {

__extension__ typedef __int128 Wide;

struct PrefixRange {
  // In halves: the compiler would pass the words of a shuffle through memory to put a whole one together.
  struct Halves {
    std::uint64_t low;
    std::int64_t high;
    GP_DEVICE Wide whole() const { return Wide(high) << 64 | Wide(low); }
  };
  static GP_DEVICE Halves halves(Wide x) { return {std::uint64_t(x), std::int64_t(x >> 64)}; }
  struct State {
    Halves total, least, greatest;
  };

  static GP_DEVICE State identity() { return {}; }
  static GP_DEVICE State combine(const State& a, const State& b) {
    const Wide before = a.total.whole(), least = before + b.least.whole(), greatest = before + b.greatest.whole();
    return {halves(before + b.total.whole()), least < a.least.whole() ? halves(least) : a.least,
            greatest > a.greatest.whole() ? halves(greatest) : a.greatest};
  }

  // The prefixes of a loop from left to right.
  struct Running {
    Wide total = 0, least = 0, greatest = 0;

    template <typename T>
    GP_DEVICE void operator()(index_t, T x) {
      total += Wide(x);
      least = total < least ? total : least;
      greatest = total > greatest ? total : greatest;
    }
  };
};

struct CheckedRows : AnyView2 {
  GP_DEVICE PrefixRange::State fold(index_t row, index_t begin, index_t end) const {
    PrefixRange::Running running;
    for_each(ExactTypes{}, row, begin, end, running);
    return {PrefixRange::halves(running.total), PrefixRange::halves(running.least),
            PrefixRange::halves(running.greatest)};
  }
};

struct CheckedSums {
  std::uint64_t* sums;
  index_t stride;
  std::uint8_t* overflowed;
  index_t overflowed_stride;
  bool is_unsigned;

  GP_DEVICE void write(index_t row, const PrefixRange::State& state) const {
    const Wide end = Wide(1) << (is_unsigned ? 64 : 63), least = is_unsigned ? Wide(0) : -end;
    sums[row * stride] = state.total.low;
    overflowed[row * overflowed_stride] = state.least.whole() < least || state.greatest.whole() >= end ? 1 : 0;
  }
};

void checked(const Call& call) {
  const Operand& flags = call.more_out[0];
  const bool is_unsigned = call.out.dtype == DType::kU64;
  if ((!is_unsigned && call.out.dtype != DType::kI64) || flags.data == nullptr || flags.dtype != DType::kBool) {
    fail(ErrorKind::kValue, call.name, " writes int64 or uint64, and a bool a row");
  }
  const CheckedRows rows{any_input(call)};
  const CheckedSums sums{static_cast<std::uint64_t*>(call.out.data), call.out.row_stride,
                         static_cast<std::uint8_t*>(flags.data), flags.row_stride, is_unsigned};
  visit_width(call, [&]<int kWarp>() { fold_in_order<kWarp, PrefixRange>(call, rows, sums); });
}

}  // namespace gp::reduce
