// What a thread folds of a row: an operator's results and partials, and the elements of a stretch as packs. Which
// element goes to which thread depends on the shape alone; see fold_rows.cuh.
#pragma once

#include "dispatch.hpp"
#include "memory.cuh"
#include "ops.cuh"

namespace gp {

// Where the result of each row goes, and the operator that says how it is written.
template <typename Op>
struct Results {
  typename Op::Result* data;
  index_t stride;
  Op op;
  GP_DEVICE void write(index_t row, const typename Op::State& state) const { data[row * stride] = op.finish(state); }
};

template <typename Op>
Results<Op> results(const Call& call) {
  return {static_cast<typename Op::Result*>(call.out.data), call.out.row_stride, operator_of<Op>(call)};
}

// Independent loads of a thread before it folds the first. One of bytes is 16 elements to unroll, which is enough code.
template <typename T>
inline constexpr int kPacksInFlight = sizeof(T) == 1   ? 1
                                      : sizeof(T) == 4 ? 8
                                                       : 4;

// Of short rows, whose many warps keep memory busy together. On an H200 rows of 64 to 256 float32 took 7 to 27 % less
// time than with eight, for more warps; rows of 512 and 1,024 the same.
template <typename T>
inline constexpr int kShortRowPacks = int(smaller(kPacksInFlight<T>, 2));

// What a thread carries over the packs that it folds, in kPartials of them that are merged at the end: sums of floats
// are the more exact for it. `Place` says where an element stands; a sum does not ask.
template <typename Op, typename Place = std::uint32_t>
struct Partial {
  static constexpr int kPartials = kPacksInFlight<typename Op::Input>;
  using FarPlace = Place;  // of a row of several stretches
  typename Op::State state;

  static GP_DEVICE Partial empty() { return {Op::identity()}; }
  static GP_DEVICE Partial of(const Partial<Op, std::uint32_t>& other, std::uint32_t) { return {other.state}; }
  // Items 0 .. end - 1 of a pack, the first of which stands at `place`.
  template <typename Pack>
  GP_DEVICE void add(const Op& op, const Pack& pack, Place, int end = kPackItems<typename Op::Input>) {
    constexpr int kItems = kPackItems<typename Op::Input>;
    if constexpr (requires { typename Op::Brief; }) {
      if (end == kItems) {
        state = Op::combine(state, op.template sum_of<kItems>(pack));
        return;
      }
    }
    typename Op::State keys[kItems];
    if constexpr (requires { op.to(pack, keys); }) {
      op.to(pack, keys);
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (i < end) state = Op::combine(state, keys[i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (i < end) state = Op::combine(state, op.lift(pack.items[i]));
      }
    }
  }
  GP_DEVICE void merge(const Partial& other) { state = Op::combine(state, other.state); }
  template <typename W>
  static GP_DEVICE Partial across(const Partial& partial)
    requires requires { Op::template across<W>(partial.state); }
  {
    return {Op::template across<W>(partial.state)};
  }
  template <typename IndexOf>
  GP_DEVICE typename Op::State finish(IndexOf) const {
    return state;
  }
};

// Operators that carry where an element stands. A pack is looked through only if it has something better.
template <typename Op, typename Place>
  requires requires { typename Op::Value; }
struct Partial<Op, Place> {
  static constexpr int kPartials = 1;
  using FarPlace = std::uint64_t;
  static constexpr Place kNowhere = ~Place(0);
  using Value = typename Op::Value;
  typename Value::State best;
  Place place;

  static GP_DEVICE Partial empty() { return {Value::identity(), kNowhere}; }
  // The same in a stretch of that number.
  static GP_DEVICE Partial of(const Partial<Op, std::uint32_t>& other, std::uint32_t stretch) {
    return {other.best, Place(stretch) << 32 | other.place};
  }
  template <typename Pack>
  GP_DEVICE void add(const Op& op, const Pack& pack, Place at, int end = kPackItems<typename Op::Input>) {
    constexpr int kItems = kPackItems<typename Op::Input>;
    typename Value::State keys[kItems];
    op.to(pack, keys);
    auto value = Value::identity();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i < end) value = Value::combine(value, keys[i]);
    }
    // Nothing is better than the identity that is its equal, but a place is better than none.
    if (!Value::is_better(value, best) && place != kNowhere) return;
    best = value;
#pragma unroll
    for (int i = kItems; i-- > 0;) {
      const bool is_it = !Value::is_better(value, keys[i]);
      if (i < end && is_it) place = at + Place(i);
    }
  }
  GP_DEVICE void merge(const Partial& other) {
    const bool is_tie = !Value::is_better(best, other.best) && !Value::is_better(other.best, best);
    if (Value::is_better(other.best, best) || (is_tie && other.place < place)) *this = other;
  }
  // The best of the lanes', the lowest place of those that have it: a word after the other.
  template <typename W>
  static GP_DEVICE Partial across(const Partial& partial)
    requires(sizeof(typename Value::State) <= 4)
  {
    const std::uint32_t own = ordered_word(partial.best), most = W::greatest_word(own);
    Place place = own == most ? partial.place : kNowhere;
    if constexpr (sizeof(Place) == 8) {
      const auto upper = std::uint32_t(place >> 32), least = W::least_word(upper);
      const std::uint32_t lower = W::least_word(upper == least ? std::uint32_t(place) : ~0u);
      place = Place(least) << 32 | lower;
    } else {
      place = W::least_word(place);
    }
    return {of_ordered_word<typename Value::State>(most), place};
  }
  template <typename IndexOf>
  GP_DEVICE typename Op::State finish(IndexOf index_of) const {
    return {best, index_of(place)};
  }
};

// Partials as an operator, for warps and blocks.
template <typename Op, typename Place = std::uint32_t>
struct MergePartials {
  using State = Partial<Op, Place>;
  static GP_DEVICE State identity() { return State::empty(); }
  static GP_DEVICE State combine(State a, const State& b) {
    a.merge(b);
    return a;
  }
  template <typename W>
  static GP_DEVICE State across(const State& state)
    requires requires { State::template across<W>(state); }
  {
    return State::template across<W>(state);
  }
};

// Lanes that share a row, so that to divide by their number is a shift.
struct PowerOfTwo {
  int log2;
  GP_HOST_DEVICE operator int() const { return 1 << log2; }
};
GP_DEVICE std::uint32_t quotient(std::uint32_t x, int step) { return x / std::uint32_t(step); }
GP_DEVICE std::uint32_t quotient(std::uint32_t x, PowerOfTwo step) { return x >> step.log2; }

// The elements begin .. end - 1 of a row as packs, of which the last may lack some; `begin` is a multiple of a pack.
// There are fewer than 2^32 elements: more go to several blocks. The elements of a pack go to one thread also where
// they cannot be read at once, so the bits of a result do not depend on the alignment of the row.
template <typename Op, int kPacks = kPacksInFlight<typename Op::Input>>
struct RowStretch {
  using Input = typename Op::Input;
  static constexpr int kItems = kPackItems<Input>, kPartials = int(smaller(kPacks, Partial<Op>::kPartials));
  const Op& op;
  const Input* start;  // of the first pack
  index_t stride;
  index_t origin;      // the column there
  std::uint32_t last;  // packs 0 .. last - 1 lack nothing
  int rest;            // items of pack `last`, 0 where there is none

  GP_DEVICE RowStretch(const View2<const Input>& in, const Op& op, index_t row, index_t begin, index_t end)
      : op(op), stride(in.col_stride), origin(begin) {
    start = in.data + row * in.row_stride + origin * stride;
    last = std::uint32_t((end - origin) / kItems);
    rest = int((end - origin) % kItems);
  }

  GP_DEVICE PackOf<Input> gather(std::uint32_t pack, int end = kItems) const {
    const Input* const from = start + index_t(pack) * kItems * stride;
    PackOf<Input> items = {};
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i < end) items.items[i] = from[i * stride];
    }
    return items;
  }

  // The share of thread `first` of `step`: rounds of kPacks packs, loaded before any is looked at, of which the last
  // may lack some. Of a round, the p-th pack goes to the p-th partial. `kIsPacked` says that the row can be read by
  // packs.
  template <bool kIsPacked = false, typename Step>
  GP_DEVICE Partial<Op> fold(int first, Step by) const {
    const int step = by;
    const std::uint32_t begin = first;
    const std::uint32_t count = begin < last ? quotient(last - begin - 1, by) + 1 : 0;
    auto sum = Partial<Op>::empty();
    if (kIsPacked || is_packable(start, stride)) {
      Partial<Op> partials[kPartials];
#pragma unroll
      for (Partial<Op>& partial : partials) partial = Partial<Op>::empty();
      if (count > kPacks) {
        std::uint32_t pack = begin;
#pragma unroll 1
        for (auto left = int(count); left > 0; left -= kPacks) {
          take<kPacks>(partials, pack, step, left);
          pack += kPacks * step;
        }
      } else {  // in as few instructions as there is to do
        take_few<kPacks>(partials, begin, step, int(count));
      }
#pragma unroll
      for (const Partial<Op>& partial : partials) sum.merge(partial);
    } else {  // the same additions in the same order, one pack after the other
#pragma unroll 1
      for (int p = 0; p < kPartials; ++p) {
        auto partial = Partial<Op>::empty();
#pragma unroll 1
        for (std::uint32_t turn = p; turn < count; turn += kPartials) {
          const std::uint32_t pack = begin + turn * std::uint32_t(step);
          partial.add(op, gather(pack), pack * kItems);
        }
        sum.merge(partial);
      }
    }
    // A pack that lacks something goes to a thread that has as few as any.
    if (rest != 0 && begin == last - quotient(last, by) * step) sum.add(op, gather(last, rest), last * kItems, rest);
    return sum;
  }

  // The first `left` of the packs from `pack` on, and no more than kCount.
  template <int kCount>
  GP_DEVICE void take(Partial<Op> (&partials)[kPartials], std::uint32_t pack, int step, int left = kCount) const {
    const auto* const from = reinterpret_cast<const PackOf<Input>*>(start) + pack;
    PackOf<Input> packs[kCount];
#pragma unroll
    for (int p = 0; p < kCount; ++p) packs[p] = load_vector_if(p < left, from + p * step);
    const auto add_to = [&](auto& into) {
#pragma unroll
      for (int p = 0; p < kCount; ++p) {
        if (IgnoresZeros<Op> || p < left) into[p % kPartials].add(op, packs[p], (pack + p * step) * kItems);
      }
    };
    if constexpr (kPartials == 1) {
      add_to(partials);
    } else {  // to copies: clang would merge the conditional stores of two counts, and keep the partials in memory
      static_assert(kCount <= kPartials);
      Partial<Op> copies[kCount];
#pragma unroll
      for (int p = 0; p < kCount; ++p) copies[p] = partials[p];
      add_to(copies);
#pragma unroll
      for (int p = 0; p < kCount; ++p) partials[p] = copies[p];
    }
  }
  // The same of kCount packs or fewer, with less than twice the loads that they need.
  template <int kCount>
  GP_DEVICE void take_few(Partial<Op> (&partials)[kPartials], std::uint32_t pack, int step, int left) const {
    if constexpr (kCount > 0) {
      if (left == kCount) {
        take<kCount>(partials, pack, step);
      } else if (left > kCount / 2) {
        take<kCount>(partials, pack, step, left);
      } else {
        take_few<kCount / 2>(partials, pack, step, left);
      }
    }
  }

  // The state that a partial of all threads stands for.
  GP_DEVICE typename Op::State finish(const Partial<Op>& sum) const {
    return sum.finish([&](std::uint32_t place) { return origin + index_t(place); });
  }
};

}  // namespace gp
