// compact.pipelined: one launch, a pipeline of tiles in each of its blocks (gpuport/pipeline.cuh). The default for long
// rows of elements of 4 and 8 bytes with flags of one byte.
// A tile's flags are counted and the counts published tiles ahead; when it is known where the tile's first kept element
// goes, each warp moves what it keeps to the front of its part of the ring, and from there to its place, 16 bytes at a
// time. Reads each flag and element once, writes each kept element once; a rejected element writes nothing. Stable,
// exact. The result needs room for as many elements as the place for the number of kept ones comes out to say.
#include <gpuport/gpuport.cuh>

#include <gpuport/pipeline.cuh>

namespace gp::compact {

constexpr int kOnTheWay = 2;
constexpr int kLaneElements = 4;  // neighbours of one lane in a strip: their flags are one word

// H200: the ring fills the shared memory. 12 warps, four tiles ahead, take 9 % less than 16, two ahead, at 2^28 int32
// and as long at 2^24; below that the larger tile is 8 % faster, as fewer blocks have to wait for each other. The
// others are not measured; see scan/pipelined.cu.
constexpr PipelinePolicy kPipelines[] = {
    {Target::kCuda, 227 << 10, index_t(1) << 23, {16, 2}},
    {Target::kCuda, 227 << 10, kAnyLength, {12, 4}},
    {Target::kCuda, 163 << 10, kAnyLength, {12, 2}},
    {Target::kCuda, 99 << 10, kAnyLength, {8, 1}},
    {Target::kCuda, 0, kAnyLength, {4, 1}},
    {Target::kAmd, 0, kAnyLength, {2, 1}},
    {Target::kCpu, 0, kAnyLength, {2, 1}},
};

using Count = Sum<std::int64_t, std::int64_t>;

template <typename T>
struct Rows {
  const T* elements;
  const std::uint8_t* flags;
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

template <int kWarp, typename T>
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

  Rows<T> rows;
  const Plan& plan;
  Exchange<std::int64_t>& exchange;
  T* elements;           // this warp's part of the first stage
  std::uint32_t* flags;  // likewise, a word for each lane of each strip

  GP_DEVICE T* elements_of(const Walk& walk) const { return elements + walk.stage * (plan.warps * kLength); }
  GP_DEVICE std::uint32_t* flags_of(const Walk& walk) const {
    return flags + walk.stage * (plan.warps * kStrips * kWarp) + W::lane();
  }
  GP_DEVICE index_t begin_of(const Walk& walk) const {
    return index_t(std::uint64_t(std::uint32_t(walk.tile)) * plan.length + std::uint32_t(W::index() * kLength));
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
        copy_async(words + s * kWarp, bytes + s * kWarp);
      }
    } else {
#pragma unroll 1
      for (int s = 0; s < kStrips; ++s) {
        std::uint32_t word = 0;
#pragma unroll 1
        for (int i = 0; i < kLaneElements; ++i) {
          const index_t col = begin + s * kStrip + i;
          if (col >= rows.cols) break;
          copy_async(to + s * kStrip + i, rows.elements + col * rows.element_stride);
          word |= std::uint32_t(rows.flags[col * rows.flag_stride]) << (8 * i);
        }
        words[s * kWarp] = word;
      }
    }
  }

  GP_DEVICE void sum(const Walk& walk) const {
    std::int64_t count[1] = {0};
#pragma unroll
    for (int s = 0; s < kStrips; ++s) count[0] += __popc(nonzero_bytes(flags_of(walk)[s * kWarp]));
    W::template reduce_in_order<Count>(count);
    if (W::lane() == 0) {
      exchange.bases[walk.stage][W::index()] = count[0];
      exchange.totals[walk.stage].arrive();
    }
  }

  GP_DEVICE void finish(const Walk& walk) const {
    T* const part = elements_of(walk);
    std::uint32_t keep[kStrips];
    Vector values[kStrips][kCopies];
    Counts mine = 0;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      keep[s] = nonzero_bytes(flags_of(walk)[s * kWarp]);
      mine |= Counts(__popc(keep[s])) << (s * kCountBits);
#pragma unroll
      for (int c = 0; c < kCopies; ++c) {
        values[s][c] = reinterpret_cast<const Vector*>(part + s * kStrip + W::lane() * kLaneElements)[c];
      }
    }
    const Counts through = W::template inclusive_scan<Sum<Counts, Counts>>(mine);
    const Counts all = W::shuffle(through, kWarp - 1), below = through - mine;
    W::sync();  // every lane has its elements in registers: the part may be written over
    constexpr Counts kMask = (Counts(1) << kCountBits) - 1;
    int kept = 0;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      int at = kept + int(below >> (s * kCountBits) & kMask);
#pragma unroll
      for (int i = 0; i < kLaneElements; ++i) {
        if (keep[s] >> (8 * i + 7) & 1u) part[at++] = values[s][i / kPackItems].items[i % kPackItems];
      }
      kept += int(all >> (s * kCountBits) & kMask);
    }
    W::sync();  // the kept elements are at the front of the part
    exchange.looked_back[walk.stage].wait(walk.round);
    const index_t to = exchange.before[walk.stage] + exchange.bases[walk.stage][W::index()];
    write(part, kept, to);
    if (walk.tile == plan.tiles - 1 && W::index() == plan.warps - 1 && W::lane() == 0) *rows.kept = to + kept;
    W::sync();  // every lane has read the part before a copy into it begins
  }

  // Places to .. to + kept, in accesses aligned to 16 bytes; what is cut off at either end goes element by element.
  GP_DEVICE void write(const T* part, int kept, index_t to) const {
    if (rows.out_stride != 1) {
      for (int i = W::lane(); i < kept; i += kWarp) rows.out[(to + i) * rows.out_stride] = part[i];
      return;
    }
    T* const target = rows.out + to;
    const int past = int(reinterpret_cast<std::uintptr_t>(target) / sizeof(T) % kPackItems);
    for (int i = W::lane() * kPackItems - past; i < kept; i += kWarp * kPackItems) {
      if (i >= 0 && i + kPackItems <= kept) {
        Vector vector;
#pragma unroll
        for (int k = 0; k < kPackItems; ++k) vector.items[k] = part[i + k];
        store_vector(reinterpret_cast<Vector*>(target + i), vector);
      } else {
#pragma unroll
        for (int k = 0; k < kPackItems; ++k) {
          if (i + k >= 0 && i + k < kept) target[i + k] = part[i + k];
        }
      }
    }
  }
};

template <int kWarp, typename T>
GP_KERNEL __launch_bounds__(kPipelineThreads, 1)
    pipelined_kernel(Rows<T> rows, Published<std::int64_t> published, Plan plan) {
  using W = Warp<kWarp>;
  W::require();
  using Worker = Mover<kWarp, T>;
  __shared__ Exchange<std::int64_t> exchange;
  extern __shared__ RingBytes ring[];
  // All elements of all stages, then all flags.
  T* const elements = reinterpret_cast<T*>(ring);
  auto* const flags = reinterpret_cast<std::uint32_t*>(elements + plan.stages * plan.warps * Worker::kLength);
  const int warp = W::index();
  const Worker worker{rows, plan, exchange, elements + warp * Worker::kLength, flags + warp * Worker::kStrips * kWarp};
  run_pipeline<kWarp, Count, kOnTheWay>(plan, published, exchange, worker);
}

template <typename T>
Rows<T> rows_of(const Call& call) {
  const auto aligned = [](const void* data, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
  };
  const bool packs = call.in.col_stride == 1 && call.keep.col_stride == 1 && aligned(call.in.data, kVectorBytes) &&
                     aligned(call.keep.data, kLaneElements);
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
  if (dtype_size(call.keep.dtype) != 1) {
    fail(ErrorKind::kValue, call.name, " takes flags of one byte, not ", dtype_name(call.keep.dtype), "; use two_pass");
  }
  const auto run = [&]<int kWarp, typename T>() {
    using Worker = Mover<kWarp, T>;
    Plan plan = plan_tiles(call, shape, kOnTheWay, index_t(shape.warps) * Worker::kLength);
    if (plan.items == 0) return;
    Grid grid{plan.items, (shape.warps + kServiceWarps) * kWarp};
    grid.shared_bytes = std::size_t(plan.stages) * shape.warps *
                        (Worker::kLength * sizeof(T) + Worker::kStrips * kWarp * sizeof(std::uint32_t));
    const index_t fit = resident_blocks(pipelined_kernel<kWarp, T>, call, grid.threads, grid.shared_bytes);
    grid.blocks = smaller(grid.blocks, fit);
    plan.deal_to(grid.blocks);
    const Workspace workspace(call, 0, std::size_t(plan.items) * Published<std::int64_t>::kWords);
    launch_resident(pipelined_kernel<kWarp, T>, call, grid, rows_of<T>(call),
                    Published<std::int64_t>{workspace.tagged(), workspace.tag()}, plan);
  };
  visit_width(call, [&]<int kWarp>() {
    if (dtype_size(call.in.dtype) == 4) {
      run.template operator()<kWarp, std::uint32_t>();
    } else {
      run.template operator()<kWarp, std::uint64_t>();
    }
  });
}

// One operator, compact, over one row: input, flags in the mask, and scratch of one int64 that becomes the number of
// kept elements. The output has room for all elements of the row.
void pipelined(const Call& call) { pipelined_with(call, pipeline_for(call, kPipelines)); }

}  // namespace gp::compact
