// segmented.merge_path: every segment folded, with the same work for every thread whatever the segments look like.
// The elements and the ends of the segments form one merged list; each thread takes kMergeItems of it, found by a
// binary search along a diagonal (Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication",
// 2016). So an empty segment costs as much as an element, and a huge one spreads over many blocks. What a block leaves
// of the segment at its end, and what it has of the first segment that ends in it, are joined by a second launch in a
// fixed order: bitwise repeatable. Reads each element once and the offsets a few times from cache.
#include <gpuport/gpuport.cuh>

#include <algorithm>

namespace gp::segmented {

constexpr int kMergeThreads = 256;
constexpr int kMergeItems = 8;
constexpr index_t kMergeTile = index_t(kMergeThreads) * kMergeItems;
constexpr int kJoinThreads = 1024;

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

  GP_DEVICE std::int64_t end(index_t segment) const { return offsets[segment + 1]; }
};

// What one block leaves for the second launch.
template <typename Op>
struct Edges {
  typename Carry<Op>::State* tail;  // of the segment that the block's end cuts
  typename Op::State* head;         // of the first segment that ends in the block: what lies in the block
  index_t* first_ended;             // its number, -1 where none ends
};

// The number of segment ends among the first `diagonal` items of the merged list.
template <typename Op>
GP_DEVICE index_t ends_before(const Segments<Op>& segments, index_t elements, index_t diagonal) {
  index_t low = diagonal > elements ? diagonal - elements : 0;
  index_t high = diagonal < segments.count ? diagonal : segments.count;
  while (low < high) {
    const index_t middle = (low + high) / 2;
    // An end comes before the element that it excludes.
    if (segments.end(middle) - segments.offsets[0] <= diagonal - 1 - middle) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <int kWarp, typename Op>
GP_KERNEL merge_path_kernel(Segments<Op> segments, Edges<Op> edges, index_t blocks) {
  Warp<kWarp>::require();
  using Scan = BlockScan<kWarp, kMergeThreads, Carry<Op>>;
  using CarryState = typename Carry<Op>::State;
  __shared__ typename Scan::Storage storage;
  const index_t begin = segments.offsets[0], elements = segments.offsets[segments.count] - begin;
  const index_t items = elements + segments.count;
  for (index_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const index_t block_diagonal = block * kMergeTile;
    if (threadIdx.x == 0) edges.first_ended[block] = -1;
    const index_t own = block_diagonal + index_t(threadIdx.x) * kMergeItems;
    const index_t diagonal = own < items ? own : items;
    const index_t first = ends_before(segments, elements, diagonal);
    const index_t stop = diagonal + kMergeItems < items ? diagonal + kMergeItems : items;

    // Twice over the same few items: first what carries on, then, with the carry from the left, the results.
    const auto walk = [&](CarryState carry, auto&& on_end) {
      index_t segment = first, element = begin + diagonal - first;
      for (index_t item = diagonal; item < stop; ++item) {
        if (segment < segments.count && element >= segments.end(segment)) {
          on_end(segment, carry);
          carry = {Op::identity(), true};
          ++segment;
        } else {
          carry.value = Op::combine(carry.value, Op::lift(segments.in(0, element)));
          ++element;
        }
      }
      return carry;
    };
    const CarryState own_carry = walk(Carry<Op>::identity(), [](index_t, const CarryState&) {});
    CarryState total;
    const CarryState before = Scan::exclusive_scan(own_carry, storage, &total);
    walk(before, [&](index_t segment, const CarryState& carry) {
      if (carry.ended) {
        segments.out.write(segment, carry.value);  // it began in this block
      } else {
        edges.head[block] = carry.value;
        edges.first_ended[block] = segment;
      }
    });
    if (threadIdx.x == 0) edges.tail[block] = total;
    __syncthreads();  // the storage is read by all before the next block of items reuses it
  }
}

// One block: what carries over the edges, from left to right, and the segments that wait for it.
template <int kWarp, typename Op>
GP_KERNEL join_kernel(Segments<Op> segments, Edges<Op> edges, index_t blocks) {
  Warp<kWarp>::require();
  using Scan = BlockScan<kWarp, kJoinThreads, Carry<Op>>;
  using CarryState = typename Carry<Op>::State;
  __shared__ typename Scan::Storage storage;
  CarryState carry = Carry<Op>::identity();
  for (index_t first = 0; first < blocks; first += kJoinThreads) {
    const index_t block = first + threadIdx.x;
    CarryState total;
    const CarryState before =
        Scan::exclusive_scan(block < blocks ? edges.tail[block] : Carry<Op>::identity(), storage, &total);
    if (block < blocks && edges.first_ended[block] >= 0) {
      const CarryState left = Carry<Op>::combine(carry, before);
      segments.out.write(edges.first_ended[block], Op::combine(left.value, edges.head[block]));
    }
    carry = Carry<Op>::combine(carry, total);
    __syncthreads();  // the storage is read by all before the next step reuses it
  }
}

template <typename... Ts>
using SegmentedOps = decltype(TypeList<Max<Ts>...>{} + TypeList<Min<Ts>...>{});
using EveryOp =
    decltype(TypeList<Sum<boolean, std::int64_t>, Sum<std::int8_t, std::int64_t>, Sum<std::int16_t, std::int64_t>,
                      Sum<std::int32_t, std::int64_t>, Sum<std::int64_t, std::int64_t>, Sum<std::uint8_t, std::int64_t>,
                      Sum<std::uint16_t, std::int64_t>, Sum<std::uint32_t, std::int64_t>, Sum<float16, float, float16>,
                      Sum<bfloat16, float, bfloat16>, Sum<float, float>, Sum<double, double>>{} +
             SegmentedOps<boolean, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                          std::uint32_t, std::uint64_t, float16, bfloat16, float, double>{});

// The input is one row; scratch holds the offsets, contiguous int64, checked by the caller; rows counts the segments.
void merge_path(const Call& original) {
  Call call = original;
  if (call.op == OpCode::kSum && call.out.dtype == DType::kU64) {
    call.out.dtype = DType::kI64;
    if (call.in.dtype == DType::kU64) call.in.dtype = DType::kI64;
  }
  if (call.scratch.dtype != DType::kI64) throw Error(ErrorKind::kValue, std::string(call.name) + ": int64 offsets");
  visit(call, EveryOp{}, [&]<int kWarp, typename Op>() {
    Segments<Op> segments{call.input<const typename Op::Input>(), static_cast<const std::int64_t*>(call.scratch.data),
                          call.rows, results<Op>(call)};
    // As many as if every element lay in a segment: the host need not know the offsets.
    const index_t blocks = (call.cols + call.rows + kMergeTile - 1) / kMergeTile;
    using CarryState = typename Carry<Op>::State;
    using State = typename Op::State;
    const std::size_t bytes = std::size_t(blocks) * (sizeof(CarryState) + sizeof(State) + sizeof(index_t));
    const Workspace workspace(call, bytes);
    Edges<Op> edges;
    edges.first_ended = workspace.data<index_t>();
    edges.head = reinterpret_cast<State*>(edges.first_ended + blocks);
    edges.tail = reinterpret_cast<CarryState*>(edges.head + blocks);
    launch(merge_path_kernel<kWarp, Op>, call, blocks_for(blocks, kMergeThreads), segments, edges, blocks);
    launch(join_kernel<kWarp, Op>, call, Grid{1, kJoinThreads}, segments, edges, blocks);
  });
}

}  // namespace gp::segmented
