// compact.two_pass: count the kept elements of each stretch, then write them in order.
// The first launch reads the flags and leaves the stretches' offsets and the total, for which the host waits to
// allocate the result; the second reads the flags again, the elements, and writes what is kept. A rejected element
// writes nothing. Stable, exact. Flags are bool or integers; anything but zero keeps. Any element type: only its size
// matters.
#include <gpuport/gpuport.cuh>

namespace gp::compact {

constexpr int kCompactThreads = 256;
constexpr int kCompactItems = 8;  // neighbours of one thread
constexpr index_t kCompactTile = index_t(kCompactThreads) * kCompactItems;
// One for each kCompactTile elements, but not more than the last block of the first launch can scan in a few steps.
constexpr index_t kMostStretches = 4096;

using Count = Sum<std::int64_t, std::int64_t>;

struct Stretches {
  index_t count, length;  // length: a whole number of tiles
};

Stretches stretches_of(index_t cols) {
  const index_t tiles = larger(1, ceil_div(cols, kCompactTile));
  const index_t tiles_each = ceil_div(tiles, kMostStretches);
  return {ceil_div(tiles, tiles_each), tiles_each * kCompactTile};
}

template <typename Flag>
GP_DEVICE bool keeps(const View2<const Flag>& flags, index_t col) {
  return col < flags.cols && flags(0, col) != Flag(0);
}

// offsets[s] becomes the number of kept elements before stretch s, *all that of the whole row.
template <int kWarp, typename Flag>
GP_KERNEL count_kernel(View2<const Flag> flags, std::int64_t* offsets, std::int64_t* all, Stretches stretches,
                       std::uint32_t* finished, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using Reduce = BlockReduce<kWarp, kCompactThreads, Count>;
  using Scan = BlockScan<kWarp, kCompactThreads, Count>;
  __shared__ typename Reduce::Storage reduce_storage;
  __shared__ typename Scan::Storage scan_storage;
  __shared__ bool is_last;
  const int thread = threadIdx.x;
  const index_t begin = index_t(blockIdx.x) * stretches.length;
  overlap.await_kernels_ahead();
  std::int64_t kept = 0;
  for (index_t col = begin + thread; col < begin + stretches.length; col += kCompactThreads) {
    kept += keeps(flags, col) ? 1 : 0;
  }
  kept = Reduce::all_reduce(kept, reduce_storage);
  if (thread == 0) {
    offsets[blockIdx.x] = kept;
    is_last = fetch_add(finished, 1u) == std::uint32_t(stretches.count - 1);
  }
  __syncthreads();  // thread 0 has decided
  if (!is_last) return;
  std::int64_t carry = 0;
  for (index_t first = 0; first < stretches.count; first += kCompactThreads) {
    const index_t i = first + thread;
    std::int64_t total;
    const std::int64_t before =
        Scan::exclusive_scan(i < stretches.count ? offsets[i] : std::int64_t(0), scan_storage, &total);
    if (i < stretches.count) offsets[i] = carry + before;
    carry += total;
    __syncthreads();  // the storage is read by all before the next step reuses it
  }
  if (thread == 0) {
    *all = carry;
    *finished = 0;  // as the next launch expects it
  }
}

// `write(destination, column)` puts one kept element in its place.
template <int kWarp, typename Flag, typename Write>
GP_DEVICE void write_kept(const View2<const Flag>& flags, const std::int64_t* offsets, const Stretches& stretches,
                          Write write) {
  using Scan = BlockScan<kWarp, kCompactThreads, Count>;
  __shared__ typename Scan::Storage storage;
  const index_t begin = index_t(blockIdx.x) * stretches.length;
  std::int64_t carry = offsets[blockIdx.x];
  for (index_t base = begin; base < begin + stretches.length && base < flags.cols; base += kCompactTile) {
    const index_t first = base + index_t(threadIdx.x) * kCompactItems;
    bool keep[kCompactItems];
    std::int64_t kept = 0;
#pragma unroll
    for (int i = 0; i < kCompactItems; ++i) {
      keep[i] = keeps(flags, first + i);
      kept += keep[i] ? 1 : 0;
    }
    std::int64_t total;
    std::int64_t destination = carry + Scan::exclusive_scan(kept, storage, &total);
#pragma unroll
    for (int i = 0; i < kCompactItems; ++i) {
      if (keep[i]) write(destination++, first + i);
    }
    carry += total;
    __syncthreads();  // the storage is read by all before the next tile reuses it
  }
}

template <int kWarp, typename Flag, typename T>
GP_KERNEL compact_kernel(View2<const Flag> flags, View2<const T> in, T* out, index_t stride,
                         const std::int64_t* offsets, Stretches stretches, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  overlap.await_kernels_ahead();
  write_kept<kWarp>(flags, offsets, stretches, [&](index_t to, index_t col) { out[to * stride] = in(0, col); });
}

template <int kWarp, typename Flag>
GP_KERNEL nonzero_kernel(View2<const Flag> flags, index_t* out, index_t stride, const std::int64_t* offsets,
                         Stretches stretches, Overlap overlap) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  overlap.await_kernels_ahead();
  write_kept<kWarp>(flags, offsets, stretches, [&](index_t to, index_t col) { out[to * stride] = col; });
}

// The unsigned type of a dtype's size: flags are compared with zero and elements are moved, both by their bits.
template <typename F>
void visit_size(DType dtype, F&& f) {
  switch (dtype_size(dtype)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

// Operators: count (input: flags, output: how many are kept), compact (input: elements, mask: flags) and nonzero
// (input: flags). Each is one row; count leaves in scratch, kMostStretches of int64, what the other two need.
void two_pass(const Call& call) {
  const bool moves = call.op == OpCode::kCompact;
  const Operand flag_operand = moves ? call.keep : call.in;
  const Stretches stretches = stretches_of(call.cols);
  if (call.scratch.dtype != DType::kI64 || call.rows != 1 || call.out.dtype != (moves ? call.in.dtype : DType::kI64)) {
    fail(ErrorKind::kValue, call.name, ": one row, int64 offsets, and a result of the elements' dtype");
  }
  auto* const offsets = static_cast<std::int64_t*>(call.scratch.data);
  const Grid grid = blocks_for(stretches.count, kCompactThreads);
  visit_width(call, [&]<int kWarp>() {
    visit_size(flag_operand.dtype, [&]<typename Flag>() {
      const View2<const Flag> flags{static_cast<const Flag*>(flag_operand.data), 1, call.cols, 0,
                                    flag_operand.col_stride};
      if (call.op == OpCode::kCount) {
        const Workspace workspace(call, 0);
        launch(count_kernel<kWarp, Flag>, call, grid, flags, offsets, static_cast<std::int64_t*>(call.out.data),
               stretches, workspace.counters(), Overlap{});
      } else if (call.op == OpCode::kNonzero) {
        launch(nonzero_kernel<kWarp, Flag>, call, grid, flags, static_cast<index_t*>(call.out.data),
               call.out.col_stride, offsets, stretches, Overlap{});
      } else {
        visit_size(call.in.dtype, [&]<typename T>() {
          launch(compact_kernel<kWarp, Flag, T>, call, grid, flags, call.input<const T>(),
                 static_cast<T*>(call.out.data), call.out.col_stride, offsets, stretches, Overlap{});
        });
      }
    });
  });
}

}  // namespace gp::compact
