// segmented.merge_path: every segment folded, with the same work for every warp whatever the segments look like.
// The elements and the ends of the segments form one merged list, of which each warp takes a part of the same length
// (Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016). So an empty segment costs no
// more than a few elements, and a huge one spreads over many warps. The parts are so few that each is long, and a warp
// reads its own at the pace of a plain sum: fold_part.cuh. What the warps of a block leave of the segments that they
// share the block joins, and the block that began last joins what the blocks leave. The number of parts depends on
// the sizes alone, so every order depends on those and the offsets: bitwise repeatable. Reads each element once, each
// offset a few times, all but once from caches.
#include "fold_part.cuh"

namespace gp::segmented {

// Microseconds on an H200, of 2^26 float32 in 10,000 and in 10^6 segments, and of 2^24 in 10,000; a plain sum takes 68,
// 68 and 24. The least items are a step of each warp:
//   threads 128, resident 8, blocks 1056:  76.5   92.8   32.3
//   256, 4, 528:  74.0   90.3   30.5       512, 2, 264:  74.3  88.9  30.6
//   256, 4, 1056: 79.2  101.6   39.6       256, 4, 2112: 80.4  120.4  48.0
//   256, 3, 396:  72.4   89.5   27.4       what an H200 runs at once, with registers for loads of two steps
// Before ends were weighed and read by the round; with that the last line takes 72.7 and 92.1, and twice as many
// elements a step in blocks of which two fit 70.6, 85 and 28; from 2^25 elements on those are as fast or faster.
// The numbers are no device's own: others run these blocks in as many turns as they need, in the same order.
constexpr Cut kCut = {256, 3, 396, 4096, 16}, kLongCut = {256, 2, 264, 8192, 32};
// Of sums of floats the rows that are cut so, where it is measured; the CPU's so that the tests see it.
constexpr index_t kLongRow = kTarget == Target::kCpu ? index_t(1) << 14 : index_t(1) << 25;
template <typename Op>
constexpr bool kHasLongCut =
    kTarget != Target::kAmd && Op::kCode == OpCode::kSum && std::is_same_v<typename Op::State, float>;
template <bool kIsLong>
constexpr Cut kCutOf = kIsLong ? kLongCut : kCut;

// One block, when all have begun: what carries over their edges, from left to right, and the segments that wait for it.
template <int kWarp, Cut kCut, typename Op>
GP_DEVICE void join_blocks(const Published<Edge<Op>>& edges, int blocks, const Results<Op>& out,
                           typename BlockScan<kWarp, kCut.threads, Carry<Op>>::Storage& storage) {
  constexpr int kJoinItems = int(ceil_div(kCut.most_blocks, kCut.threads));  // blocks of a thread
  const int first = int(threadIdx.x) * kJoinItems;
  Edge<Op> mine[kJoinItems];
  auto own = Carry<Op>::identity();
#pragma unroll
  for (int i = 0; i < kJoinItems; ++i) {
    mine[i] = first + i < blocks ? edges.wait_for(edges.at(first + i)) : Edge<Op>::none();
  }
#pragma unroll
  for (int i = 0; i < kJoinItems; ++i) own = Carry<Op>::combine(own, mine[i].carry());
  auto left = BlockScan<kWarp, kCut.threads, Carry<Op>>::exclusive_scan(own, storage);
#pragma unroll
  for (int i = 0; i < kJoinItems; ++i) {
    if (mine[i].ended >= 0) out.write(mine[i].ended, Op::combine(left.value, mine[i].head));
    left = Carry<Op>::combine(left, mine[i].carry());
  }
}

template <int kWarp, typename Op, bool kIsLong>
__launch_bounds__(kCutOf<kIsLong>.threads, kCutOf<kIsLong>.resident) GP_KERNEL
    merge_path_kernel(Segments<Op> segments, Published<Edge<Op>> edges, std::uint32_t* begun, index_t part_items,
                      double ends_per_item, Overlap overlap) {
  using W = Warp<kWarp>;
  using Half = Warp<kWarp, kWarp / 2>;
  constexpr Cut kCut = kCutOf<kIsLong>;
  using Part = PartFold<kWarp, Op, kCut.step_items>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  constexpr int kWarps = kCut.threads / kWarp;
  __shared__ typename Part::Storage storage[kWarps];
  __shared__ typename BlockScan<kWarp, kCut.threads, Carry<Op>>::Storage scan;
  __shared__ bool is_last;
  __shared__ BlockTag tag;
  overlap.admit_next_kernel();
  overlap.await_kernels_ahead();
  // Early, so that the answers come while the elements do.
  if (threadIdx.x == 0) {
    tag.begin(edges.launch);
    is_last = fetch_add_relaxed(begun, 1u) == gridDim.x - 1;
  }
  // One half of the warp finds where its part begins, the other where it ends.
  const index_t bound = W::global_index() + W::lane() / Half::kLanes;
  const Place found = find<Half>(segments, bound * part_items, ends_per_item, Part::kStep);
  const Place from = W::shuffle(found, 0), to = W::shuffle(found, Half::kLanes);
  Part(segments, from, to, storage[W::index()]).run();
  if (threadIdx.x == 0) tag.end(edges.launch);
  __syncthreads();  // the edges of all warps and the tag are there
  edges.tag = tag.of(edges.launch);
  if (W::index() == 0) {
    const Edge<Op> edge = join<W>(W::lane() < kWarps ? storage[W::lane()].edge : Edge<Op>::none(), segments.out);
    if (W::lane() == 0) edges.publish(blockIdx.x, edge);
  }
  if (!is_last) return;  // written before the barrier above
  join_blocks<kWarp, kCut>(edges, int(gridDim.x), segments.out, scan);
  if (threadIdx.x == 0) *begun = 0;  // as the next launch expects it
}

using EveryOp =
    TypeList<KeyedSum<std::int8_t>, KeyedSum<std::int16_t>, KeyedSum<std::int32_t>, KeyedSum<std::int64_t>,
             Sum<float16, float, float16>, Sum<bfloat16, float, bfloat16>, Sum<float, float>, Sum<double, double>,
             KeyedMax<std::int8_t>, KeyedMax<std::int16_t>, KeyedMax<std::int32_t>, KeyedMax<std::int64_t>,
             KeyedMax<float16>, KeyedMax<bfloat16>, KeyedMax<float>, KeyedMax<double>>;

template <int kWarp, typename Op, bool kIsLong>
void launch_cut(const Call& call) {
  constexpr Cut kCut = kCutOf<kIsLong>;
  const Segments<Op> segments{call.input<const typename Op::Input>(),
                              static_cast<const std::int64_t*>(call.scratch.data), call.rows, results<Op>(call)};
  // As many as if every element lay in a segment: the host need not know the offsets.
  const index_t items = call.cols + call.rows * kEndItems;
  const index_t blocks = smaller(kCut.most_blocks, ceil_div(items, kCut.least_items));
  const index_t part_items = ceil_div(items, larger(1, blocks * (kCut.threads / kWarp)));
  const double ends_per_item = double(call.rows) / double(larger(1, items));
  using Shared = Published<Edge<Op>>;
  const Workspace workspace(call, 0, std::size_t(blocks) * Shared::kWords);
  launch(merge_path_kernel<kWarp, Op, kIsLong>, call, blocks_for(blocks, kCut.threads), segments,
         Shared{workspace.tagged(), workspace.tag()}, workspace.counters(), part_items, ends_per_item, Overlap{});
}

// The input is one row; scratch holds the offsets, contiguous int64, checked by the caller; rows counts the segments.
void merge_path(const Call& call) {
  if (call.scratch.dtype != DType::kI64) fail(ErrorKind::kValue, call.name, ": int64 offsets");
  visit(canonical(call), EveryOp{}, [&]<int kWarp, typename Op>() {
    if constexpr (kHasLongCut<Op>) {
      if (call.cols >= kLongRow) return launch_cut<kWarp, Op, true>(call);
    }
    launch_cut<kWarp, Op, false>(call);
  });
}

}  // namespace gp::segmented
