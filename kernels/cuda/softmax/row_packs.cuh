// A row, or a stretch of one, held in the registers of a group of threads: read once, 16 bytes at a time where the row
// allows it, and written once. Which elements a thread takes depends on the shape alone, so neither alignment nor the
// layout of the output changes the bits.
#pragma once

#include "row.cuh"

namespace gp::softmax {

// exp(x) for x <= 0, in base 2: two roundings of x and a log2(e) that is a quarter of a unit off, so 2.25 |x| units of
// relative error beside the instruction's own four. float64 has no such instruction. With `kFlush` a result below
// 2^-126 may be 0.
template <bool kFlush, typename A>
GP_DEVICE A quick_exponential(A x) {
  if constexpr (std::is_same_v<A, float>) {
    constexpr float kLog2E = 1.44269504f;
    return exp2_approximate<kFlush>(x * kLog2E);
  } else {
    return exponential(x);
  }
}

// What an element counts in a sum that is at least 1: below 2^-126 nothing.
template <typename A>
GP_DEVICE A weight_in_sum(A x) {
  return quick_exponential<true>(x);
}
// The same where the result of a T is made from it.
template <typename T>
GP_DEVICE Accum<T> weight_of(Accum<T> x) {
  return quick_exponential<kIsReducedFloat<T>>(x);
}

// 1 / x for the sum of a row, within two units. The division of the language calls a function for operands that a sum
// of weights cannot be, and what is live around the call would be spilled.
GP_DEVICE float reciprocal(float x) { return __fdividef(1.0f, x); }
GP_DEVICE double reciprocal(double x) {
  double result = double(reciprocal(float(x)));
#pragma unroll
  for (int step = 0; step < 2; ++step) result += result * (1.0 - x * result);  // 24 bits, 48, all
  return result;
}

// What to subtract before the exponential: the maximum, but nothing where that is infinite. So elements at -inf count 0
// in a row of nothing else, +inf makes the sum infinite, and only a NaN makes it NaN.
template <typename A>
GP_DEVICE A pivot_of(A max) {
  return max == infinity<A>() || max == -infinity<A>() ? A(0) : max;
}

// The states of the group's lanes merged: one exponential a lane, where a tree of merges has two at each level. Every
// lane holds the result.
template <typename Group, typename A>
GP_DEVICE MaxSum<A> merge_lanes(const MaxSum<A>& state) {
  const A max = Group::template all_reduce<Greatest<A>>(state.max);
  return {max, Group::template all_reduce<Sum<A, A>>(state.sum * weight_in_sum(state.max - pivot_of(max)))};
}

// From an element, or from its weight, to what is written.
template <typename T>
struct Probability {
  using A = Accum<T>;
  A pivot, factor;
  GP_DEVICE explicit Probability(const MaxSum<A>& state)
      : pivot(state.max), factor(Normalizer<T>(state).undefined ? quiet_nan<A>() : reciprocal(state.sum)) {}
  // Weights that were taken against another pivot than the row's maximum.
  GP_DEVICE Probability(const MaxSum<A>& state, A pivot) : Probability(state) {
    this->pivot = pivot;
    factor *= shifted_exponential(pivot, state.max);
  }
  GP_DEVICE T of_kept(A weight) const { return T(weight * factor); }
  GP_DEVICE T operator()(A x) const { return T(weight_of<T>(x - pivot) * factor); }
};
template <typename T>
struct LogProbability {
  using A = Accum<T>;
  A max, log_sum;
  GP_DEVICE explicit LogProbability(const MaxSum<A>& state)
      : max(state.max), log_sum(Normalizer<T>(state).undefined ? quiet_nan<A>() : logarithm(state.sum)) {}
  GP_DEVICE T of_kept(A x) const { return (*this)(x); }
  GP_DEVICE T operator()(A x) const { return T(x - max - log_sum); }
};

// Whether the kernels that hold rows in packs take the call. They read rows whole; a mask or a stride has them read
// element by element, which others do as well.
inline bool reads_packs(const Call& call) { return call.keep.data == nullptr && call.in.col_stride == 1; }

// How a contiguous row lies on packs that are aligned to 16 bytes: a head and a tail of single elements around them, if
// the row may have such edges.
template <typename T, bool kEdges = true>
struct RowSpan {
  static constexpr int kItems = kPackItems<T>;
  static constexpr int kMostEdges = 2 * (kItems - 1);
  const T* start;
  index_t packs;
  int head = 0, tail = 0;

  // A row past the last has nothing.
  GP_DEVICE RowSpan(const Rows<T>& rows, index_t row) : start(&rows.in(row, 0)) {
    const index_t cols = row < rows.count() ? rows.cols() : 0;
    if constexpr (kEdges) {
      const int past = int(reinterpret_cast<std::uintptr_t>(start) % kVectorBytes / sizeof(T));
      const int to_boundary = (kItems - past) % kItems;
      head = to_boundary < cols ? to_boundary : int(cols);
    }
    packs = (cols - head) / kItems;
    if constexpr (kEdges) tail = int(cols - head - packs * kItems);
  }
  GP_DEVICE index_t col_of(index_t pack) const { return head + pack * kItems; }
  GP_DEVICE int edges() const { return head + tail; }
  GP_DEVICE index_t col_of_edge(int edge) const { return edge < head ? edge : edge + packs * kItems; }
  // What the row does not have is -inf.
  GP_DEVICE PackOf<T> load(index_t pack) const {
    PackOf<T> loaded = no_pack();
    if (pack < packs) loaded = load_pack(start + col_of(pack));
    return loaded;
  }
  static GP_DEVICE PackOf<T> no_pack() {
    PackOf<T> none;
#pragma unroll
    for (T& item : none.items) item = T(-infinity<Accum<T>>());
    return none;
  }
};

// Whether packs can be written where the input has them.
template <typename T, bool kEdges>
GP_DEVICE bool writes_packs(const Rows<T>& rows, index_t row, const RowSpan<T, kEdges>& span) {
  return is_packable(&rows.out(row, span.head), rows.out.col_stride);
}

// A pack in registers: as what its elements are accumulated in, or, where that would take twice the registers, as it
// came; then each use converts.
template <typename T>
struct KeptPack {
  static constexpr bool kConverts = false;
  Accum<T> values[kPackItems<T>];

  GP_DEVICE void set(const PackOf<T>& pack) {
#pragma unroll
    for (int i = 0; i < kPackItems<T>; ++i) values[i] = pack.items[i];
  }
  GP_DEVICE void shrink() {}
  GP_DEVICE Accum<T> operator[](int i) const { return values[i]; }
};
template <typename T>
  requires kIsReducedFloat<T>
struct KeptPack<T> {
  static constexpr bool kConverts = true;
  std::uint32_t words[4];  // words, because compilers give an element of 16 bits a register of its own

  GP_DEVICE void set(const PackOf<T>& pack) { __builtin_memcpy(words, &pack, sizeof(words)); }
  // Between two uses: the elements converted for the first are not kept for the second.
  GP_DEVICE void shrink() {
#pragma unroll
    for (std::uint32_t& word : words) forget_derived(word);
  }
  GP_DEVICE Accum<T> operator[](int i) const {
    return Accum<T>(bit_cast<T>(std::uint16_t(words[i / 2] >> (i % 2 * 16))));
  }
};

// Elements of a thread in registers. Pairs first: a chain of dependent additions would take longer than the elements
// take to arrive.
template <typename T, int kPacks>
struct RowPacks {
  using A = Accum<T>;
  static constexpr int kItems = kPackItems<T>;
  KeptPack<T> kept[kPacks];

  GP_DEVICE void set(int p, const PackOf<T>& pack) { kept[p].set(pack); }

  GP_DEVICE A greatest() const {
    A max = -infinity<A>();
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      A values[kItems];
#pragma unroll
      for (int i = 0; i < kItems; ++i) values[i] = kept[p][i];
      max = Greatest<A>::combine(max, fold<Greatest<A>>(values));
    }
    return max;
  }

  // The sum of exp(x - pivot).
  GP_DEVICE A weigh(A pivot) {
    A sum = A(0);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      kept[p].shrink();
      A weights[kItems];
#pragma unroll
      for (int i = 0; i < kItems; ++i) weights[i] = weight_in_sum(kept[p][i] - pivot);
      sum += fold<Sum<A, A>>(weights);
      kept[p].shrink();
    }
    return sum;
  }

  // The same; leaves the weights in place of the elements.
  GP_DEVICE A weigh_in_place(A pivot) {
    A sum = A(0);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (A& value : kept[p].values) value = weight_of<T>(value - pivot);
      sum += fold<Sum<A, A>>(kept[p].values);
    }
    return sum;
  }

 private:
  template <typename Op, int kCount = kItems>
  static GP_DEVICE A fold(const A* items) {
    if constexpr (kCount == 1) {
      return items[0];
    } else {
      return Op::combine(fold<Op, kCount / 2>(items), fold<Op, kCount / 2>(items + kCount / 2));
    }
  }
};

// A whole row over a group of kThreads threads: packs go round the threads, and a thread has one element of the edges
// at most.
template <typename T, int kThreads, int kPacks, bool kEdges = true>
struct RegisterRow : RowPacks<T, kPacks> {
  using Packs = RowPacks<T, kPacks>;
  using A = Accum<T>;
  using Packs::kItems, Packs::kept;
  using Span = RowSpan<T, kEdges>;
  static constexpr bool kConverts = KeptPack<T>::kConverts;
  A edge;

  GP_DEVICE void load(const Span& span, int thread) {
    const T* const start = span.start + span.head;
    const int count = int(span.packs);
    PackOf<T> packs[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int pack = p * kThreads + thread;
      packs[p] = span.no_pack();
      if (pack < count) packs[p] = load_pack(start + pack * kItems);
    }
    edge = kEdges && thread < span.edges() ? A(span.start[span.col_of_edge(thread)]) : -infinity<A>();
#pragma unroll
    for (int p = 0; p < kPacks; ++p) Packs::set(p, packs[p]);
  }

  GP_DEVICE A greatest() const { return kEdges ? Greatest<A>::combine(Packs::greatest(), edge) : Packs::greatest(); }
  // The sum of the weights, which take the place of the elements where the operation needs only them.
  GP_DEVICE A weigh(OpCode op, A pivot) {
    if constexpr (!kConverts) {
      if (op == OpCode::kSoftmax) {
        if constexpr (kEdges) edge = weight_of<T>(edge - pivot);
        return Packs::weigh_in_place(pivot) + (kEdges ? edge : A(0));
      }
    }
    return Packs::weigh(pivot) + (kEdges ? weight_in_sum(edge - pivot) : A(0));
  }

  // `pivot` is what weigh() subtracted, where that is not the row's maximum.
  template <typename... Pivot>
  GP_DEVICE void store(const Rows<T>& rows, index_t row, const Span& span, int thread, const MaxSum<A>& state,
                       Pivot... pivot) const {
    if (rows.op == OpCode::kLogSoftmax) {
      store_results(rows, row, span, thread, LogProbability<T>(state));
    } else if constexpr (kConverts) {
      store_results(rows, row, span, thread, Probability<T>(state));
    } else {
      store_results(rows, row, span, thread, Probability<T>(state, pivot...));
    }
  }

 private:
  template <typename Result>
  static GP_DEVICE T of_kept(const Result& result, A value) {
    if constexpr (kConverts) {
      return result(value);
    } else {
      return result.of_kept(value);
    }
  }
  template <typename Result>
  GP_DEVICE void store_results(const Rows<T>& rows, index_t row, const Span& span, int thread,
                               const Result& result) const {
    if (writes_packs(rows, row, span)) {
      T* const start = &rows.out(row, span.head);
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const int pack = p * kThreads + thread;
        PackOf<T> results;
#pragma unroll
        for (int i = 0; i < kItems; ++i) results.items[i] = of_kept(result, kept[p][i]);
        if (pack < int(span.packs)) store_pack(start + pack * kItems, results);
      }
    } else {
      // An output of another alignment or stride is not the input, which can be read again: less code than to unroll
      // single stores.
#pragma unroll 1
      for (index_t pack = thread; pack < span.packs; pack += kThreads) {
        write_elements(rows, row, span, pack, result);
      }
    }
    if (kEdges && thread < span.edges()) rows.out(row, span.col_of_edge(thread)) = of_kept(result, edge);
  }
};

// The results of a pack one by one, from the input.
template <typename T, bool kEdges, typename Result>
GP_DEVICE void write_elements(const Rows<T>& rows, index_t row, const RowSpan<T, kEdges>& span, index_t pack,
                              const Result& result) {
  const index_t first = span.col_of(pack);
#pragma unroll 1
  for (index_t col = first; col < first + kPackItems<T>; ++col) rows.out(row, col) = result(rows.value(row, col));
}

}  // namespace gp::softmax
