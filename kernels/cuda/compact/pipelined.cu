// compact.pipelined: one launch, a pipeline of tiles in each of its blocks (gpuport/pipeline.cuh). The default for long
// rows of elements of 4 and 8 bytes, with flags of one byte or with the elements as their own flags (not zero keeps).
// Tiles ahead, each warp counts what it keeps of a tile and moves it to the front of its part of the ring, and the
// counts are published; when it is known where the tile's first kept element goes, the parts go to their places, 16
// bytes at a time. Reads each flag and element once, and elements that are their own flags once in all; writes each
// kept element once; a rejected element writes nothing. Stable, exact. The result needs room for as many elements as
// the place for the number of kept ones comes out to say.
#include <gpuport/gpuport.cuh>

#include <gpuport/pipeline.cuh>

namespace gp::compact {

constexpr int kOnTheWay = 2;
constexpr int kLaneElements = 4;  // neighbours of one lane in a strip: their flags are one word

// H200: the ring fills the shared memory. Few elements want large tiles, as fewer blocks wait for each other, and many
// want the look-back far behind. By flags 16 warps, two tiles ahead, take 10 % less than 12, four ahead, at 2^22 int32,
// 2 % more at 2^24 and 9 % more at 2^26. Elements that are their own flags leave room for more tiles: 22 warps take 7 %
// less than 12 at 2^22, 9 % more at 2^24, 6 % more at 2^26. The others are not measured; see scan/pipelined.cu.
constexpr PipelinePolicy kPipelines[] = {
    {Target::kCuda, 227 << 10, index_t(1) << 23, {16, 2}},
    {Target::kCuda, 227 << 10, kAnyLength, {12, 4}},
    {Target::kCuda, 163 << 10, kAnyLength, {12, 2}},
    {Target::kCuda, 99 << 10, kAnyLength, {8, 1}},
    {Target::kCuda, 0, kAnyLength, {4, 1}},
    {Target::kAmd, 0, kAnyLength, {2, 1}},
    {Target::kCpu, 0, kAnyLength, {2, 1}},
};
constexpr PipelinePolicy kOwnFlags[] = {
    {Target::kCuda, 227 << 10, index_t(1) << 23, {22, 2}},
    {Target::kCuda, 227 << 10, kAnyLength, {12, 6}},
    {Target::kCuda, 163 << 10, kAnyLength, {12, 3}},
    {Target::kCuda, 99 << 10, kAnyLength, {8, 2}},
    {Target::kCuda, 0, kAnyLength, {4, 2}},
    {Target::kAmd, 0, kAnyLength, {2, 1}},
    {Target::kCpu, 0, kAnyLength, {2, 1}},
};

using Count = Sum<std::int64_t, std::int64_t>;

template <typename T>
struct Rows {
  const T* elements;
  const std::uint8_t* flags;  // of the elements; not read where they are their own
  index_t cols, element_stride, flag_stride;
  bool packs;  // elements and flags may be read by packs
  T* out;
  index_t out_stride;
  std::int64_t* kept;
};

// The highest bit of each byte of a word that is not zero.
GP_DEVICE std::uint32_t nonzero_bytes(std::uint32_t word) {
  return (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) & 0x80808080u;
}

template <int kWarp, typename T, bool kOwn>
struct Mover {
  using W = Warp<kWarp>;
  // Of a lane in a strip: one copy of up to 16 bytes, or two.
  static constexpr int kCopies = sizeof(T) * kLaneElements / kVectorBytes;
  static constexpr int kStrips = 4 / kCopies;
  static constexpr int kStrip = kWarp * kLaneElements, kLength = kStrips * kStrip;
  static constexpr int kPackItems = kVectorBytes / int(sizeof(T));
  using Vector = Pack<T, kPackItems>;
  // The counts of the strips side by side in one word, so that one scan over the lanes serves all of them.
  using Counts = std::conditional_t<(kStrip < 256), std::uint32_t, std::uint64_t>;
  static constexpr int kCountBits = int(sizeof(Counts)) * 2;

  // What one lane has of a strip.
  struct Piece {
    Vector values[kCopies];
    std::uint32_t flags = 0;  // the highest bit of a byte for each element that is kept

    GP_DEVICE T element(int i) const { return values[i / kPackItems].items[i % kPackItems]; }
    GP_DEVICE bool keeps(int i) const {
      if constexpr (kOwn) return element(i) != 0;
      return (flags >> (8 * i + 7) & 1u) != 0;
    }
    GP_DEVICE int count() const {
      if constexpr (!kOwn) return __popc(flags);
      int count = 0;
#pragma unroll
      for (int i = 0; i < kLaneElements; ++i) count += keeps(i) ? 1 : 0;
      return count;
    }
  };

  Rows<T> rows;
  const Plan& plan;
  Exchange<std::int64_t>& exchange;
  int (*kept)[kMostWorkers];  // by each warp, of each stage
  T* elements;                // this warp's part of the first stage
  std::uint32_t* flags;       // likewise, a word for each lane of each strip; none where elements are their own flags

  static constexpr std::size_t stage_bytes(int warps) {
    return warps * (kLength * sizeof(T) + (kOwn ? 0 : kStrips * kWarp * sizeof(std::uint32_t)));
  }

  GP_DEVICE T* elements_of(const Walk& walk) const { return elements + walk.stage * (plan.warps * kLength); }
  GP_DEVICE std::uint32_t* flags_of(const Walk& walk) const {
    return flags + walk.stage * (plan.warps * kStrips * kWarp) + W::lane();
  }
  GP_DEVICE index_t begin_of(const Walk& walk) const {
    return index_t(std::uint64_t(std::uint32_t(walk.tile)) * plan.length + std::uint32_t(W::index() * kLength));
  }

  GP_DEVICE Piece piece_of(const Walk& walk, int strip) const {
    Piece piece;
    const T* const from = elements_of(walk) + strip * kStrip + W::lane() * kLaneElements;
#pragma unroll
    for (int c = 0; c < kCopies; ++c) piece.values[c] = reinterpret_cast<const Vector*>(from)[c];
    if constexpr (!kOwn) piece.flags = nonzero_bytes(flags_of(walk)[strip * kWarp]);
    return piece;
  }

  GP_DEVICE void fill(const Walk& walk) const {
    const index_t begin = begin_of(walk) + W::lane() * kLaneElements;
    T* const to = elements_of(walk) + W::lane() * kLaneElements;
    std::uint32_t* const words = flags_of(walk);
    if (rows.packs && plan.is_whole(walk)) {
      const T* const from = rows.elements + begin;
      const auto* const bytes = reinterpret_cast<const std::uint32_t*>(rows.flags + begin);
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int c = 0; c < kCopies; ++c) {
          const int at = s * kStrip + c * kPackItems;
          copy_async(reinterpret_cast<Vector*>(to + at), reinterpret_cast<const Vector*>(from + at));
        }
        if constexpr (!kOwn) copy_async(words + s * kWarp, bytes + s * kWarp);
      }
    } else {
#pragma unroll 1
      for (int s = 0; s < kStrips; ++s) {
        std::uint32_t word = 0;
#pragma unroll 1
        for (int i = 0; i < kLaneElements; ++i) {
          const index_t col = begin + s * kStrip + i;
          if (col < rows.cols) {
            copy_async(to + s * kStrip + i, rows.elements + col * rows.element_stride);
            if constexpr (!kOwn) word |= std::uint32_t(rows.flags[col * rows.flag_stride]) << (8 * i);
          } else if constexpr (kOwn) {
            to[s * kStrip + i] = 0;  // as its own flag it keeps nothing
          }
        }
        if constexpr (!kOwn) words[s * kWarp] = word;
      }
    }
  }

  // Moves what is kept to the front of the part as well: the elements come to registers only once.
  GP_DEVICE void sum(const Walk& walk) const {
    Piece pieces[kStrips];
    Counts mine = 0;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      pieces[s] = piece_of(walk, s);
      mine |= Counts(pieces[s].count()) << (s * kCountBits);
    }
    const Counts through = W::template inclusive_scan<Sum<Counts, Counts>>(mine);
    const Counts all = W::shuffle(through, kWarp - 1), below = through - mine;
    constexpr Counts kMask = (Counts(1) << kCountBits) - 1;
    int begins[kStrips + 1] = {0};
#pragma unroll
    for (int s = 0; s < kStrips; ++s) begins[s + 1] = begins[s] + int(all >> (s * kCountBits) & kMask);
    if (W::lane() == 0) {
      exchange.bases[walk.stage][W::index()] = begins[kStrips];
      kept[walk.stage][W::index()] = begins[kStrips];
      exchange.totals[walk.stage].arrive();
    }
    W::sync();  // every lane has its elements in registers: the part may be written over
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      T* to = elements_of(walk) + begins[s] + int(below >> (s * kCountBits) & kMask);
#pragma unroll
      for (int i = 0; i < kLaneElements; ++i) {
        if (pieces[s].keeps(i)) *to++ = pieces[s].element(i);
      }
    }
    W::sync();  // the kept elements are at the front of the part
  }

  GP_DEVICE void finish(const Walk& walk) const {
    const index_t to = before_part<kWarp, Count>(exchange, walk);
    const int count = kept[walk.stage][W::index()];
    write(elements_of(walk), count, to);
    if (walk.tile == plan.tiles - 1 && W::index() == plan.warps - 1 && W::lane() == 0) *rows.kept = to + count;
    W::sync();  // every lane has read the part before a copy into it begins
  }

  // Places to .. to + count, in accesses aligned to 16 bytes; what is cut off at either end goes element by element.
  GP_DEVICE void write(const T* part, int count, index_t to) const {
    if (rows.out_stride != 1) {
      for (int i = W::lane(); i < count; i += kWarp) rows.out[(to + i) * rows.out_stride] = part[i];
      return;
    }
    T* const target = rows.out + to;
    const int past = int(reinterpret_cast<std::uintptr_t>(target) / sizeof(T) % kPackItems);
    const int head = smaller((kPackItems - past) % kPackItems, count);
    const int packed = (count - head) / kPackItems * kPackItems;
    const int end = W::lane() < head ? W::lane() : packed + W::lane();
    if (end < count) target[end] = part[end];
#pragma unroll
    for (int first = 0; first < kLength; first += kWarp * kPackItems) {
      const int i = head + first + W::lane() * kPackItems;
      if (i >= head + packed) break;
      Vector vector;
#pragma unroll
      for (int k = 0; k < kPackItems; ++k) vector.items[k] = part[i + k];
      store_pack(target + i, vector);
    }
  }
};

template <int kWarp, typename T, bool kOwn>
GP_KERNEL __launch_bounds__(kPipelineThreads, 1)
    pipelined_kernel(Rows<T> rows, Published<std::int64_t> published, Plan plan, Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  using Worker = Mover<kWarp, T, kOwn>;
  __shared__ Exchange<std::int64_t> exchange;
  __shared__ int kept[kMostStages][kMostWorkers];
  extern __shared__ RingBytes ring[];
  // All elements of all stages, then all flags.
  T* const elements = reinterpret_cast<T*>(ring);
  auto* const flags = reinterpret_cast<std::uint32_t*>(elements + plan.stages * plan.warps * Worker::kLength);
  const int warp = W::index();
  const Worker worker{
      rows, plan, exchange, kept, elements + warp * Worker::kLength, flags + warp * Worker::kStrips * kWarp};
  run_pipeline<kWarp, Count, kOnTheWay>(plan, published, exchange, worker, overlap);
}

// Whether the elements are their own flags.
bool has_own_flags(const Call& call) {
  return call.keep.data == call.in.data && call.keep.col_stride == call.in.col_stride &&
         dtype_size(call.keep.dtype) == dtype_size(call.in.dtype);
}

template <typename T>
Rows<T> rows_of(const Call& call) {
  const auto packed = [](const Operand& operand, std::size_t bytes) {
    return operand.col_stride == 1 && reinterpret_cast<std::uintptr_t>(operand.data) % bytes == 0;
  };
  const bool packs = packed(call.in, kVectorBytes) && (has_own_flags(call) || packed(call.keep, kLaneElements));
  return {static_cast<const T*>(call.in.data),
          static_cast<const std::uint8_t*>(call.keep.data),
          call.cols,
          call.in.col_stride,
          call.keep.col_stride,
          packs,
          static_cast<T*>(call.out.data),
          call.out.col_stride,
          static_cast<std::int64_t*>(call.scratch.data)};
}

void pipelined_with(const Call& call, const Pipeline& shape) {
  if (call.scratch.dtype != DType::kI64 || call.rows != 1 || call.out.dtype != call.in.dtype) {
    fail(ErrorKind::kValue, call.name, ": one row, a result of the elements' dtype, and int64 scratch for the count");
  }
  const bool own = has_own_flags(call);
  if (!own && dtype_size(call.keep.dtype) != 1) {
    fail(ErrorKind::kValue, call.name, " takes flags of one byte, or the elements as their own, not ",
         dtype_name(call.keep.dtype), "; use two_pass");
  }
  const auto run = [&]<int kWarp, typename T, bool kOwn>() {
    using Worker = Mover<kWarp, T, kOwn>;
    constexpr auto kKernel = pipelined_kernel<kWarp, T, kOwn>;
    Plan plan = plan_tiles(call, shape, kOnTheWay, index_t(shape.warps) * Worker::kLength);
    if (plan.items == 0) return;
    Grid grid{plan.items, (shape.warps + kServiceWarps) * kWarp};
    grid.shared_bytes = plan.stages * Worker::stage_bytes(shape.warps);
    const index_t fit = resident_blocks(kKernel, call, grid.threads, grid.shared_bytes);
    grid.blocks = smaller(grid.blocks, fit);
    plan.deal_to(grid.blocks);
    const Workspace workspace(call, 0, std::size_t(plan.items) * Published<std::int64_t>::kWords);
    launch_resident(kKernel, call, grid, rows_of<T>(call), Published<std::int64_t>{workspace.tagged(), workspace.tag()},
                    plan, Overlap{});
  };
  visit_width(call, [&]<int kWarp>() {
    const auto of_size = [&]<typename T>() {
      own ? run.template operator()<kWarp, T, true>() : run.template operator()<kWarp, T, false>();
    };
    dtype_size(call.in.dtype) == 4 ? of_size.template operator()<std::uint32_t>()
                                   : of_size.template operator()<std::uint64_t>();
  });
}

// One operator, compact, over one row: input, flags in the mask, and scratch of one int64 that becomes the number of
// kept elements. Where the mask is the input, the elements are their own flags. The output has room for all elements of
// the row.
void pipelined(const Call& call) {
  pipelined_with(call, has_own_flags(call) ? pipeline_for(call, kOwnFlags) : pipeline_for(call, kPipelines));
}

}  // namespace gp::compact
