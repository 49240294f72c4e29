// A row, or a stretch of one, held in the registers of a group of threads: read once, 16 bytes at a time where the row
// allows it, and written once. Which elements a thread takes depends on the shape and on how the row lies on packs, so
// the layout of the output does not change the bits.
#pragma once

#include "weights.cuh"

namespace gp::softmax {

// Whether the kernels that hold rows in packs take the call. They read rows whole; a mask or a stride has them read
// element by element, which others do as well.
inline bool reads_packs(const Call& call) { return call.keep.data == nullptr && call.in.col_stride == 1; }

// Whether every row of the input is a whole number of aligned packs.
template <typename T>
bool has_no_edges(const Call& call) {
  return call.cols % kPackItems<T> == 0 && call.in.row_stride % kPackItems<T> == 0 &&
         reinterpret_cast<std::uintptr_t>(call.in.data) % kVectorBytes == 0;
}

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
  // Has the row's packs on their way to the L2 cache. By one thread.
  GP_DEVICE void prefetch() const { Overlap::prefetch(start + head, packs); }
  GP_DEVICE index_t col_of(index_t pack) const { return head + pack * kItems; }
  GP_DEVICE int edges() const { return head + tail; }
  GP_DEVICE index_t col_of_edge(int edge) const { return edge < head ? edge : edge + packs * kItems; }
  // What the row does not have is -inf. `policy`: nothing, or a CachePolicy.
  template <typename... Policy>
  GP_DEVICE PackOf<T> load(index_t pack, Policy... policy) const {
    PackOf<T> loaded = no_pack();
    if (pack < packs) loaded = load_pack(start + col_of(pack), policy...);
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

namespace detail {
template <typename Op, int kCount>
GP_DEVICE typename Op::State fold(const typename Op::State* items) {
  if constexpr (kCount == 1) {
    return items[0];
  } else {
    return Op::combine(fold<Op, kCount / 2>(items), fold<Op, kCount / 2>(items + kCount / 2));
  }
}
}  // namespace detail

// Pairs first: a chain of dependent additions would take longer than the elements take to arrive.
template <typename Op, int kCount>
GP_DEVICE typename Op::State fold(const typename Op::State (&items)[kCount]) {
  return detail::fold<Op, kCount>(items);
}

// A pack in registers: as what its elements are accumulated in, or, where that would take twice the registers, as it
// came; then each use converts.
template <typename T>
struct KeptPack {
  static constexpr bool kConverts = false;
  static constexpr int kItems = kPackItems<T>;
  using A = Accum<T>;
  A values[kItems];

  GP_DEVICE void set(const PackOf<T>& pack) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) values[i] = pack.items[i];
  }
  GP_DEVICE void load(const PackOf<T>* address) { set(load_vector(address)); }
  GP_DEVICE void widen(A (&wide)[kItems]) const {
#pragma unroll
    for (int i = 0; i < kItems; ++i) wide[i] = values[i];
  }
  GP_DEVICE A greatest() const { return fold<Greatest<A>>(values); }
  static GP_DEVICE PackOf<T> narrow(const A (&wide)[kItems]) {
    PackOf<T> pack;
#pragma unroll
    for (int i = 0; i < kItems; ++i) pack.items[i] = T(wide[i]);
    return pack;
  }
};
template <typename T>
  requires kIsReducedFloat<T>
struct KeptPack<T> {
  static constexpr bool kConverts = true;
  static constexpr int kItems = kPackItems<T>, kWords = kItems / 2;
  std::uint32_t words[kWords];  // words, because compilers give an element of 16 bits a register of its own

  GP_DEVICE void set(const PackOf<T>& pack) { __builtin_memcpy(words, &pack, sizeof(words)); }
  // Not through a pack, which compilers cut into elements.
  GP_DEVICE void load(const PackOf<T>* address) {
    const auto loaded = load_vector(reinterpret_cast<const Pack<std::uint32_t, kWords>*>(address));
    __builtin_memcpy(words, &loaded, sizeof(words));
  }
  // Between two uses: the elements converted for the first are not kept for the second.
  GP_DEVICE void forget_widened() {
#pragma unroll
    for (std::uint32_t& word : words) forget_derived(word);
  }
  GP_DEVICE void widen(float (&wide)[kItems]) const {
#pragma unroll
    for (int w = 0; w < kWords; ++w) Pair<T>::widen(words[w], wide[2 * w], wide[2 * w + 1]);
  }
  GP_DEVICE float greatest() const {
    if constexpr (Pair<T>::kHasGreatest) {
      std::uint32_t word = words[0];
#pragma unroll
      for (int w = 1; w < kWords; ++w) word = Pair<T>::greatest(word, words[w]);
      float first, second;
      Pair<T>::widen(word, first, second);
      return Greatest<float>::combine(first, second);
    } else {
      float wide[kItems];
      widen(wide);
      return fold<Greatest<float>>(wide);
    }
  }
  static GP_DEVICE PackOf<T> narrow(const float (&wide)[kItems]) {
    std::uint32_t narrowed[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) narrowed[w] = Pair<T>::narrow(wide[2 * w], wide[2 * w + 1]);
    PackOf<T> pack;
    __builtin_memcpy(&pack, narrowed, sizeof(pack));
    return pack;
  }
};

// Where the maximum had to widen the elements, they are not kept for the sum, nor those of the sum for what follows.
template <typename T>
GP_DEVICE void forget_greatest(KeptPack<T>& pack) {
  if constexpr (KeptPack<T>::kConverts && !Pair<T>::kHasGreatest) pack.forget_widened();
}

// Elements of a thread in registers.
template <typename T, int kPacks>
struct RowPacks {
  using A = Accum<T>;
  static constexpr int kItems = kPackItems<T>;
  KeptPack<T> kept[kPacks];

  GP_DEVICE void set(int p, const PackOf<T>& pack) { kept[p].set(pack); }

  GP_DEVICE A greatest() const {
    A max = kept[0].greatest();
#pragma unroll
    for (int p = 1; p < kPacks; ++p) max = Greatest<A>::combine(max, kept[p].greatest());
    return max;
  }

  // The sum of exp(x - pivot).
  GP_DEVICE A weigh(A pivot) {
    const Weights<T> weight(pivot);
    A sum = A(0);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      forget_greatest(kept[p]);
      A values[kItems];
      kept[p].widen(values);
#pragma unroll
      for (A& value : values) value = weight.in_sum(value);
      sum += fold<Sum<A, A>>(values);
      forget_greatest(kept[p]);
    }
    return sum * weight.factor();
  }

  // The same; leaves the weights in place of the elements.
  GP_DEVICE A weigh_in_place(A pivot) {
    const Weights<T> weight(pivot);
    A sum = A(0);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (A& value : kept[p].values) value = weight(value);
      sum += fold<Sum<A, A>>(kept[p].values);
    }
    return sum;
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
        if constexpr (kEdges) edge = Weights<T>(pivot)(edge);
        return Packs::weigh_in_place(pivot) + (kEdges ? edge : A(0));
      }
    }
    const A sum = Packs::weigh(pivot) + (kEdges ? weight_in_sum(edge - pivot) : A(0));
    if constexpr (kConverts) {
#pragma unroll
      for (auto& pack : kept) pack.forget_widened();
    }
    return sum;
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
  static GP_DEVICE A of_kept(const Result& result, A value) {
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
        A values[kItems];
        kept[p].widen(values);
#pragma unroll
        for (A& value : values) value = of_kept(result, value);
        if (pack < int(span.packs)) store_pack(start + pack * kItems, KeptPack<T>::narrow(values));
      }
    } else {
      // An output of another alignment or stride is not the input, which can be read again: less code than to unroll
      // single stores.
#pragma unroll 1
      for (index_t pack = thread; pack < span.packs; pack += kThreads) {
        write_elements(rows, row, span, pack, result);
      }
    }
    if (kEdges && thread < span.edges()) rows.out(row, span.col_of_edge(thread)) = T(of_kept(result, edge));
  }
};

// The results of a pack one by one, from the input.
template <typename T, bool kEdges, typename Result>
GP_DEVICE void write_elements(const Rows<T>& rows, index_t row, const RowSpan<T, kEdges>& span, index_t pack,
                              const Result& result) {
  const index_t first = span.col_of(pack);
#pragma unroll 1
  for (index_t col = first; col < first + kPackItems<T>; ++col) rows.out(row, col) = T(result(rows.value(row, col)));
}

}  // namespace gp::softmax
