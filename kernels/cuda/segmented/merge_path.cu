// segmented.merge_path: every segment folded, with the same work for every block whatever the segments look like.
// The elements and the ends of the segments form one merged list, of which each block takes a tile (Merrill and
// Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016). So an empty segment costs as much as an
// element, and a huge one spreads over many blocks. Where few segments end in a tile, its pieces between the ends are
// folded like rows: a long one by the block, others by a warp each. Where many do, the block goes through the tile in
// slices that it brings to shared memory, of which each thread takes kItems, found by a search along a diagonal. What a
// block leaves of the segment at its end, and what it has of the first segment that ends in it, are joined by a second
// launch. Every order depends on the offsets alone: bitwise repeatable. Reads each element and each offset once.
#include <gpuport/gpuport.cuh>

namespace gp::segmented {

constexpr int kThreads = 256;
// Odd, so that threads which read kItems apart in shared memory use different banks.
constexpr int kItems = 15;
constexpr int kSlice = kThreads * kItems;
constexpr index_t kMostSlices = 8;      // of a tile, once there are enough tiles:
constexpr index_t kEnoughTiles = 1024;  // a long tile has less to search and to join
constexpr int kLongPiece = 4096;        // elements that keep a block busy
constexpr int kFewEnds = 24;            // of a slice: with more, a warp a piece is mostly idle

constexpr int kJoinThreads = 1024;
constexpr int kJoinItems = 8;  // their loads overlap: one block has little else to hide the way to memory with

// A value and whether a segment ended since it began: the values after the last end are what carries on.
template <typename Op>
struct Carry {
  struct State {
    typename Op::State value;
    bool ended;
  };
  static GP_DEVICE State identity() { return {Op::identity(), false}; }
  static GP_DEVICE State combine(State a, State b) {
    return b.ended ? b : State{Op::combine(a.value, b.value), a.ended};
  }
};

template <typename Op>
struct Segments {
  View2<const typename Op::Input> in;  // one row
  const std::int64_t* offsets;         // count + 1 of them
  index_t count;
  Results<Op> out;

  // Of the elements that belong to a segment, how many stand before the end of this one.
  GP_DEVICE index_t end(index_t segment) const { return offsets[segment + 1] - offsets[0]; }
};

// What one block leaves for the second launch.
template <typename Op>
struct Edges {
  typename Carry<Op>::State* tail;  // of the segment that the block's end cuts
  typename Op::State* head;         // of the first segment that ends in the block: what lies in the block
  index_t* first_ended;             // its number, -1 where none ends
};

// The number of segment ends among the first `diagonal` items of the merged list, searched by a whole warp: each step
// asks as many places as there are lanes, so there are few round trips to memory.
template <int kWarp, typename Op>
GP_DEVICE index_t ends_before(const Segments<Op>& segments, index_t elements, index_t diagonal) {
  using W = Warp<kWarp>;
  index_t low = diagonal > elements ? diagonal - elements : 0;
  index_t high = diagonal < segments.count ? diagonal : segments.count;
  while (low < high) {
    const index_t step = (high - low + kWarp - 1) / kWarp;
    const index_t place = low + step * W::lane();
    // An end comes before the element that it excludes. The ends are in order: the lanes that agree come first.
    const bool before = place < high && segments.end(place) <= diagonal - 1 - place;
    const int agreeing = W::count(before);
    if (agreeing == 0) break;
    const index_t last = low + step * (agreeing - 1);
    low = last + 1;
    high = last + step < high ? last + step : high;
  }
  return low;
}

// A part of the merged list.
struct Part {
  index_t first_end, first_element;  // before it
  int ends, elements;                // in it
};

// What a block knows of the tile so far: the carry, and where results go.
template <typename Op>
struct Writer {
  const Segments<Op>& segments;
  const Edges<Op>& edges;
  index_t block;

  GP_DEVICE void end(index_t segment, const typename Carry<Op>::State& carry) const {
    if (carry.ended) {
      segments.out.write(segment, carry.value);  // it began in this block
    } else {
      edges.head[block] = carry.value;
      edges.first_ended[block] = segment;
    }
  }
};

// Folds the pieces of a tile between few ends.
template <int kWarp, typename Op>
GP_DEVICE void fold_pieces(const Segments<Op>& segments, const Edges<Op>& edges, index_t block, const Part& tile,
                           typename BlockReduce<kWarp, kThreads, Op>::Storage& storage) {
  using W = Warp<kWarp>;
  const index_t origin = segments.offsets[0];
  for (int piece = 0; piece <= tile.ends; ++piece) {
    const index_t segment = tile.first_end + piece;
    const index_t begin = piece == 0 ? tile.first_element : segments.end(segment - 1);
    const index_t end = piece == tile.ends ? tile.first_element + tile.elements : segments.end(segment);
    const bool is_long = end - begin >= kLongPiece;  // the same in every thread
    if (!is_long && piece % (kThreads / kWarp) != W::index()) continue;
    const int first = is_long ? int(threadIdx.x) : W::lane(), step = is_long ? kThreads : kWarp;
    const RowStretch<Op, true> stretch(segments.in, segments.out.op, 0, origin + begin, origin + end);
    auto value = W::template all_reduce<Op>(stretch.fold(first, step).state);
    if (is_long) {
      __syncthreads();  // the storage is read by all before this piece reuses it
      if (W::lane() == 0) storage.partial[W::index()] = value;
      __syncthreads();  // every warp's part is there
      value = W::lane() < kThreads / kWarp ? storage.partial[W::lane()] : Op::identity();
      value = W::template all_reduce<Op>(value);
    }
    if (first != 0) continue;
    if (piece == tile.ends) {
      edges.tail[block] = {value, tile.ends > 0};
    } else if (piece == 0) {
      edges.head[block] = value;
      edges.first_ended[block] = segment;
    } else {
      segments.out.write(segment, value);
    }
  }
}

// One slice of a tile in which many segments end. Every thread returns the carry.
template <int kWarp, typename Op>
struct SliceMerge {
  using Input = typename Op::Input;
  using CarryState = typename Carry<Op>::State;
  using Scan = BlockScan<kWarp, kThreads, Carry<Op>>;
  struct Storage {
    typename Scan::Storage scan;
    Input elements[kSlice];
    int ends[kSlice];  // of segments, in elements of the slice
  };

  static GP_DEVICE CarryState merge(const Writer<Op>& writer, const Part& slice, CarryState carry, Storage& storage) {
    const Segments<Op>& segments = writer.segments;
    const int thread = threadIdx.x;
    const index_t first = segments.offsets[0] + slice.first_element;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int element = i * kThreads + thread;
      if (element < slice.elements) storage.elements[element] = segments.in(0, first + element);
    }
    for (int i = thread; i < slice.ends; i += kThreads) {
      storage.ends[i] = int(segments.end(slice.first_end + i) - slice.first_element);
    }
    __syncthreads();  // the slice is there
    const int length = slice.ends + slice.elements;
    const int diagonal = thread * kItems < length ? thread * kItems : length;
    int low = diagonal > slice.elements ? diagonal - slice.elements : 0;
    int high = diagonal < slice.ends ? diagonal : slice.ends;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (storage.ends[middle] <= diagonal - 1 - middle) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const int last = diagonal + kItems < length ? diagonal + kItems : length;

    // Twice over the same few items: first what carries on, then, with the carry from the left, the results.
    const auto walk = [&](CarryState state, auto&& on_end) {
      int segment = low, element = diagonal - low;
      for (int item = diagonal; item < last; ++item) {
        if (segment < slice.ends && element >= storage.ends[segment]) {
          on_end(slice.first_end + segment, state);
          state = {Op::identity(), true};
          ++segment;
        } else {
          state.value = Op::combine(state.value, segments.out.op.lift(storage.elements[element]));
          ++element;
        }
      }
      return state;
    };
    const CarryState own = walk(Carry<Op>::identity(), [](index_t, const CarryState&) {});
    CarryState total;
    const CarryState before = Carry<Op>::combine(carry, Scan::exclusive_scan(own, storage.scan, &total));
    walk(before, [&](index_t segment, const CarryState& state) { writer.end(segment, state); });
    return Carry<Op>::combine(carry, total);
  }
};

template <int kWarp, typename Op>
__launch_bounds__(kThreads, 4) GP_KERNEL
    merge_path_kernel(Segments<Op> segments, Edges<Op> edges, index_t blocks, index_t tile_items) {
  using W = Warp<kWarp>;
  W::require();
  __shared__ union {
    typename BlockReduce<kWarp, kThreads, Op>::Storage pieces;
    typename SliceMerge<kWarp, Op>::Storage slice;
  } storage;
  __shared__ index_t bounds[2];
  const index_t elements = segments.end(segments.count - 1), items = elements + segments.count;
  // The part of the list between two places in it, found by a warp for each.
  const auto part = [&](index_t begin, index_t stop) {
    if (W::index() < 2) {
      const index_t found = ends_before<kWarp>(segments, elements, W::index() == 0 ? begin : stop);
      if (W::lane() == 0) bounds[W::index()] = found;
    }
    __syncthreads();  // the bounds are there, and who came before is done with the storage
    const int ends = int(bounds[1] - bounds[0]);
    return Part{bounds[0], begin - bounds[0], ends, int(stop - begin) - ends};
  };
  for (index_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    // Offsets that leave elements at either end out make the list shorter than the host knew.
    const index_t begin = block * tile_items < items ? block * tile_items : items;
    const index_t stop = begin + tile_items < items ? begin + tile_items : items;
    if (threadIdx.x == 0) edges.first_ended[block] = -1;
    const Part tile = part(begin, stop);
    if (tile.ends <= tile_items / kSlice * kFewEnds) {
      fold_pieces<kWarp>(segments, edges, block, tile, storage.pieces);
    } else {
      typename Carry<Op>::State carry = Carry<Op>::identity();
      for (index_t slice = begin; slice < stop; slice += kSlice) {
        __syncthreads();  // bounds and storage are read by all before this slice reuses them
        const Part of_slice = part(slice, slice + kSlice < stop ? slice + kSlice : stop);
        carry = SliceMerge<kWarp, Op>::merge({segments, edges, block}, of_slice, carry, storage.slice);
      }
      if (threadIdx.x == 0) edges.tail[block] = carry;
    }
    __syncthreads();  // shared memory is read by all before the next tile reuses it
  }
}

// One block: what carries over the edges, from left to right, and the segments that wait for it.
template <int kWarp, typename Op>
__launch_bounds__(kJoinThreads) GP_KERNEL join_kernel(Segments<Op> segments, Edges<Op> edges, index_t blocks) {
  Warp<kWarp>::require();
  using Scan = BlockScan<kWarp, kJoinThreads, Carry<Op>>;
  using CarryState = typename Carry<Op>::State;
  __shared__ typename Scan::Storage storage;
  CarryState carry = Carry<Op>::identity();
  for (index_t begin = 0; begin < blocks; begin += kJoinThreads * kJoinItems) {
    const index_t first = begin + threadIdx.x * kJoinItems;
    CarryState tails[kJoinItems];
#pragma unroll
    for (int i = 0; i < kJoinItems; ++i) {
      tails[i] = first + i < blocks ? edges.tail[first + i] : Carry<Op>::identity();
    }
    CarryState own = tails[0];
#pragma unroll
    for (int i = 1; i < kJoinItems; ++i) own = Carry<Op>::combine(own, tails[i]);
    CarryState total;
    CarryState left = Carry<Op>::combine(carry, Scan::exclusive_scan(own, storage, &total));
#pragma unroll
    for (int i = 0; i < kJoinItems; ++i) {
      if (first + i < blocks) {
        const index_t segment = edges.first_ended[first + i];
        if (segment >= 0) segments.out.write(segment, Op::combine(left.value, edges.head[first + i]));
      }
      left = Carry<Op>::combine(left, tails[i]);
    }
    carry = Carry<Op>::combine(carry, total);
    __syncthreads();  // the storage is read by all before the next step reuses it
  }
}

using EveryOp =
    decltype(TypeList<Sum<boolean, std::int64_t>, Sum<std::int8_t, std::int64_t>, Sum<std::int16_t, std::int64_t>,
                      Sum<std::int32_t, std::int64_t>, Sum<std::int64_t, std::int64_t>, Sum<std::uint8_t, std::int64_t>,
                      Sum<std::uint16_t, std::int64_t>, Sum<std::uint32_t, std::int64_t>, Sum<float16, float, float16>,
                      Sum<bfloat16, float, bfloat16>, Sum<float, float>, Sum<double, double>>{} +
             TypeList<Max<boolean>, Min<boolean>, KeyedMax<std::int8_t>, KeyedMax<std::int16_t>, KeyedMax<std::int32_t>,
                      KeyedMax<std::int64_t>, KeyedMax<float16>, KeyedMax<bfloat16>, KeyedMax<float>,
                      KeyedMax<double>>{});

// The input is one row; scratch holds the offsets, contiguous int64, checked by the caller; rows counts the segments.
void merge_path(const Call& call) {
  if (call.scratch.dtype != DType::kI64) fail(ErrorKind::kValue, call.name, ": int64 offsets");
  visit(canonical(call), EveryOp{}, [&]<int kWarp, typename Op>() {
    Segments<Op> segments{call.input<const typename Op::Input>(), static_cast<const std::int64_t*>(call.scratch.data),
                          call.rows, results<Op>(call)};
    // As many as if every element lay in a segment: the host need not know the offsets.
    const index_t items = call.cols + call.rows;
    const index_t tile_items = kSlice * larger(1, smaller(items / (kSlice * kEnoughTiles), kMostSlices));
    const index_t blocks = ceil_div(items, tile_items);
    using CarryState = typename Carry<Op>::State;
    using State = typename Op::State;
    const std::size_t bytes = std::size_t(blocks) * (sizeof(CarryState) + sizeof(State) + sizeof(index_t));
    const Workspace workspace(call, bytes);
    Edges<Op> edges;
    edges.first_ended = workspace.data<index_t>();
    edges.head = reinterpret_cast<State*>(edges.first_ended + blocks);
    edges.tail = reinterpret_cast<CarryState*>(edges.head + blocks);
    launch(merge_path_kernel<kWarp, Op>, call, blocks_for(blocks, kThreads), segments, edges, blocks, tile_items);
    launch(join_kernel<kWarp, Op>, call, Grid{1, kJoinThreads}, segments, edges, blocks);
  });
}

}  // namespace gp::segmented
