// Rows that stand side by side, as in a reduction along the first axis of a matrix in C order: neighbours in memory are
// of different rows. So each lane takes a row of its own, or two neighbours, and a warp reads whole lines of memory.
//
// The additions are those of fold_rows.cuh, one by one, whatever the strides. There the threads of a block, or lanes of
// a warp, fold a share of the row each, and the shares are the leaves of a binary tree, neighbours first. Here a lane
// goes through the shares of a subtree, all those of its row where rows are many.
#pragma once

#include <bit>

#include "fold_stretch.cuh"
#include "launch.cuh"
#include "lookback.cuh"

namespace gp {

struct ColumnPolicy {
  int threads;     // of a block
  index_t blocks;  // wanted: several take each row where rows are few
  int most_units;  // blocks that share a row
};
inline constexpr ColumnPolicy kColumns = {512, 264, 256};

// Lanes that have two rows each, and read both as one, have half as many loads to issue and twice as much on its way.
// On an H200 sums of 16-bit floats from 16 MB on took up to 1/3 less time than with one row a lane (2 % more where
// there are 64 rows), but smaller ones up to a third more; of float32 5 % less where rows are many, and up to 7 % more
// where they are few. CPU: from where `gpuport check` and the tests see both.
struct WidePolicy {
  index_t least_bytes;  // of the matrix
  index_t least_rows;
};
template <typename Input>
inline constexpr WidePolicy kWide = {1 << (kTarget == Target::kCpu ? 13 : 24),
                                     sizeof(Input) == 2 || kTarget == Target::kCpu ? 1 : 1 << 14};

// Sums of narrower floats in float64 are rare, and do without, which is a tenth of these kernels.
template <typename Op>
inline constexpr bool kTakesColumns = IsExact<Op> || sizeof(typename Op::State) == 4 || sizeof(typename Op::Input) == 8;

// Two rows a lane are for what models sum along the first axis: floats, in float32.
template <typename Op>
inline constexpr bool kTakesWide = Op::kCode == OpCode::kSum && std::is_same_v<typename Op::State, float>;

// How each row is divided.
struct ColumnGrid {
  index_t splits, length;  // stretches of a row
  PowerOfTwo shares;       // of a stretch
  int partials;            // of a share
  PowerOfTwo at_once;      // of those
  PowerOfTwo parts;        // subtrees of a stretch that have a block each
  PowerOfTwo warps;        // of a block, for subtrees of those; the block's others have other rows
  index_t blocks;          // for all rows, times splits * parts
};

// A binary tree for each row of a thread that gets its leaves one after the other, kMost of them at most. Where any
// order will do, a sum that grows.
template <typename Op, int kMost, int kRows>
struct GrowingTree {
  using State = Partial<Op>;
  static constexpr int kLevels = IsExact<Op> ? 0 : std::countr_zero(unsigned(kMost));
  // In shared memory. Level 0 is the root, once the leaves are a power of two; above is what waits for its neighbour.
  State states[kLevels + 1][kRows][kColumns.threads];

  GP_DEVICE State& root(int v) { return states[0][v][threadIdx.x]; }
  // A leaf of each of the first kCount rows.
  template <int kCount>
  GP_DEVICE void push(int leaf, State (&sums)[kCount]) {
    if constexpr (IsExact<Op>) {
#pragma unroll
      for (int v = 0; v < kCount; ++v) {
        if (leaf != 0) {
          const State before = root(v);
          sums[v].merge(before);
        }
      }
    } else {
      int level = 1;
#pragma unroll 1
      for (; (leaf >> (level - 1) & 1) != 0; ++level) {
#pragma unroll
        for (int v = 0; v < kCount; ++v) {
          State left = states[level][v][threadIdx.x];
          left.merge(sums[v]);
          sums[v] = left;
        }
      }
      if (level <= kLevels) {
#pragma unroll
        for (int v = 0; v < kCount; ++v) states[level][v][threadIdx.x] = sums[v];
      }
    }
#pragma unroll
    for (int v = 0; v < kCount; ++v) root(v) = sums[v];
  }
};

// The elements begin .. end - 1 of a lane's row, or of kRows neighbours, the first of which is `row`.
template <typename Op, int kRows>
struct ColumnStretch {
  using Input = typename Op::Input;
  using Sum = Partial<Op>;
  static constexpr int kItems = kPackItems<Input>;
  // Packs of different shares or partials that are loaded at once.
  static constexpr int kStreams = kRows > 1 ? 2 : kItems < 4 ? 4 : 16 / kItems;
  const RowStretch<Op>& row;
  ColumnGrid grid;

  // Shares first .. end - 1.
  template <typename Tree>
  GP_DEVICE void fold(Tree& tree, int first, int end) const {
    const int step = grid.shares, at_once = kStreams >> grid.at_once.log2;  // shares
    int leaf = 0;
#pragma unroll 1
    for (int share = first; share < end; share += at_once) {
      Sum sums[kStreams][kRows];
      clear(sums);
      if constexpr (IsExact<Op>) {
        add_packs(sums, share, end, step << grid.at_once.log2);
      } else {
#pragma unroll 1
        for (int p = 0; p < grid.partials && std::uint32_t(share + p * step) < row.last; p += grid.at_once) {
          Sum parts[kStreams][kRows];
          clear(parts);
          add_packs(parts, share + p * step, end + p * step, grid.partials * step);
          if (grid.at_once == 1) {
#pragma unroll
            for (int k = 0; k < kStreams; ++k) merge(sums[k], parts[k]);
          } else {
#pragma unroll
            for (int k = 0; k < kStreams; ++k) merge(sums[k / 2], parts[k]);
          }
        }
      }
      add_rest(sums, int(row.last & std::uint32_t(step - 1)) - share, at_once);
#pragma unroll
      for (int width = 1; width < kStreams; width *= 2) {
#pragma unroll
        for (int k = 0; k < kStreams; k += 2 * width) merge(sums[k], sums[k + width]);
      }
      tree.push(leaf++, sums[0]);
    }
  }

 private:
  static GP_DEVICE void clear(Sum (&sums)[kStreams][kRows]) {
#pragma unroll
    for (auto& of_stream : sums) {
#pragma unroll
      for (Sum& sum : of_stream) sum = Sum::empty();
    }
  }
  static GP_DEVICE void merge(Sum (&sums)[kRows], const Sum (&others)[kRows]) {
#pragma unroll
    for (int v = 0; v < kRows; ++v) sums[v].merge(others[v]);
  }

  // Of each row, the items of a pack.
  struct Packs {
    Pack<Input, kRows> items[kItems];
    GP_DEVICE PackOf<Input> of_row(int v) const {
      PackOf<Input> pack;
#pragma unroll
      for (int i = 0; i < kItems; ++i) pack.items[i] = items[i].items[v];
      return pack;
    }
  };
  GP_DEVICE Packs gather(std::uint32_t pack) const {
    const Input* const from = row.start + index_t(pack) * kItems * row.stride;
    Packs packs;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      packs.items[i] = *reinterpret_cast<const Pack<Input, kRows>*>(from + i * row.stride);
    }
    return packs;
  }

  // The packs from `pack` on, `turn` apart, and those of the other streams beside them; `end` is past the last share's.
  GP_DEVICE void add_packs(Sum (&sums)[kStreams][kRows], std::uint32_t pack, std::uint32_t end, int turn) const {
    const auto stream = [&](int k) {
      return std::uint32_t(grid.at_once == 1 ? k : k / 2 + (k % 2 << grid.shares.log2));
    };
#pragma unroll 1
    for (; pack < row.last; pack += turn, end += turn) {
      Packs packs[kStreams];
#pragma unroll
      for (int k = 0; k < kStreams; ++k) {
        const std::uint32_t own = pack + stream(k);
        packs[k] = gather(own < row.last ? own : pack);
      }
#pragma unroll
      for (int k = 0; k < kStreams; ++k) {
        const std::uint32_t own = pack + stream(k);
        if (pack + (k >> grid.at_once.log2) < end && own < row.last) {
#pragma unroll
          for (int v = 0; v < kRows; ++v) sums[k][v].add(row.op, packs[k].of_row(v), own * kItems);
        }
      }
    }
  }

  // The pack that lacks something, item by item, for few instructions.
  GP_DEVICE void add_rest(Sum (&sums)[kStreams][kRows], int share, int shares) const {
    if (row.rest == 0 || share < 0 || share >= shares) return;
    const std::uint32_t begin = row.last * kItems;
#pragma unroll
    for (int v = 0; v < kRows; ++v) {
      Sum sum = sums[0][v];
      if constexpr (!IsExact<Op>) {
#pragma unroll
        for (int k = 1; k < kStreams; ++k) sum = k == share ? sums[k][v] : sum;
      }
#pragma unroll 1
      for (int i = 0; i < row.rest; ++i) {
        PackOf<Input> item = {};
        item.items[0] = row.start[index_t(begin + i) * row.stride + v];
        sum.add(row.op, item, begin + i, 1);
      }
      if constexpr (IsExact<Op>) {
        sums[0][v] = sum;
      } else {
#pragma unroll
        for (int k = 0; k < kStreams; ++k) sums[k][v] = k == share ? sum : sums[k][v];
      }
    }
  }
};

// Each block folds one of the parts of the stretches of some rows. If rows have several, it publishes its own, and the
// block of those rows that began last merges them all, as in fold_rows_kernel.
template <int kWarp, typename Op, int kRows>
__launch_bounds__(kColumns.threads, 2)  // as in fold_rows_kernel
    GP_KERNEL fold_columns_kernel(View2<const typename Op::Input> in, Results<Op> out, ColumnGrid grid,
                                  Published<Partial<Op>> published, std::uint32_t* begun, Overlap overlap) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  using Place = typename Partial<Op>::FarPlace;
  using Whole = Partial<Op, Place>;
  using Tree = GrowingTree<Op, kWarp, kRows>;
  static_assert(kColumns.most_units <= kWarp * kWarp);
  __shared__ Tree sums;
  __shared__ bool is_last;
  __shared__ BlockTag tag;
  const int thread = threadIdx.x, lane = W::lane(), warp = W::index() & (grid.warps - 1);
  const int units = int(grid.splits) << grid.parts.log2;
  overlap.await_kernels_ahead();
  if (units != 1 && thread == 0) tag.begin(published.launch);
  for (index_t item = blockIdx.x; item < grid.blocks * units; item += gridDim.x) {
    // Neighbouring blocks have neighbouring rows. There are few blocks where rows take several.
    const int unit = units == 1 ? 0 : int(std::uint32_t(item) / std::uint32_t(grid.blocks));
    const int split = unit >> grid.parts.log2, part = unit & (grid.parts - 1);
    const index_t block = item - unit * grid.blocks;
    const index_t group = block * (kColumns.threads / kWarp >> grid.warps.log2) + (W::index() >> grid.warps.log2);
    const index_t own = (group * kWarp + lane) * kRows;
    std::uint32_t before = 0;
    if (units != 1 && thread == 0) before = fetch_add_relaxed(&begun[block], 1u);
    const index_t begin = split * grid.length, end = smaller(begin + grid.length, in.cols);
    const RowStretch<Op> row(in, out.op, smaller(own, in.rows - kRows), begin, end);
    const int shares = grid.shares >> grid.parts.log2 >> grid.warps.log2;
    const int first = ((part << grid.warps.log2) + warp) * shares;
    ColumnStretch<Op, kRows>{row, grid}.fold(sums, first, first + shares);
    if (thread == 0) {
      is_last = before == std::uint32_t(units - 1);
      if (units != 1 && item == blockIdx.x) tag.end(published.launch);
    }
    __syncthreads();  // every warp has its own sum, and the tag
#pragma unroll 1
    for (int width = 1; width < grid.warps; width *= 2) {
      if ((warp & (2 * width - 1)) == 0) {
#pragma unroll
        for (int v = 0; v < kRows; ++v) sums.root(v).merge(sums.states[0][v][thread + width * kWarp]);
      }
      __syncthreads();  // before they are merged further
    }
    const bool writes = warp == 0 && own < in.rows;
    if (units == 1) {
      if (writes) {
#pragma unroll
        for (int v = 0; v < kRows; ++v) out.write(own + v, row.finish(sums.root(v)));
      }
    } else {
      published.tag = tag.of(published.launch);
      if (writes) {
#pragma unroll
        for (int v = 0; v < kRows; ++v) published.publish((own + v) * units + unit, sums.root(v));
      }
      if (is_last) {
        const index_t end_of_rows = smaller((group + 1) * (kWarp * kRows), in.rows);
        for (index_t r = group * (kWarp * kRows) + warp; r < end_of_rows; r += grid.warps) {
          auto whole = Whole::empty();
          int round = 0;
          // Units that there are not fill up the last leaves.
          for (int u = lane; u - lane < units || (round & (round - 1)) != 0; u += kWarp, ++round) {
            if constexpr (!IsExact<Op>) whole = Whole::empty();
            if (u < units) {
              const auto unit_sum = published.wait_for(published.at(r * units + u));
              whole.merge(Whole::of(unit_sum, std::uint32_t(u >> grid.parts.log2)));
            }
            if constexpr (!IsExact<Op>) {
              Partial<Op> leaf[1] = {W::template all_reduce<MergePartials<Op, Place>>(whole)};
              sums.push(round, leaf);
            }
          }
          if constexpr (IsExact<Op>) {
            whole = W::template all_reduce<MergePartials<Op, Place>>(whole);
          } else {
            whole = sums.root(0);
          }
          const auto index_of = [&](Place place) {
            return index_t(std::uint64_t(place) >> 32) * grid.length + index_t(std::uint32_t(place));
          };
          if (lane == 0) out.write(r, whole.finish(index_of));
        }
        if (thread == 0) begun[block] = 0;  // as the next launch expects it
      }
    }
    __syncthreads();  // the storage and is_last are read by all before the next item reuses them
  }
}

// Stretches of `length` columns, each of which has so many shares, of so many partials; kRows rows a lane.
template <int kWarp, typename Op, int kRows>
void launch_fold_columns(const Call& call, const Results<Op>& out, index_t length, PowerOfTwo shares, int partials) {
  const auto in = call.input<const typename Op::Input>();
  constexpr int kMostWarps = kColumns.threads / kWarp, kStreams = ColumnStretch<Op, kRows>::kStreams;
  const index_t splits = ceil_div(call.cols, length), groups = ceil_div(call.rows, kWarp * kRows);
  ColumnGrid grid{splits, length, shares, partials, {0}, {0}, {0}, groups};
  // Two partials of half as many shares where those are too few for so many warps.
  const int least = IsExact<Op> || partials > 1 ? larger(kStreams / 2, 1) : kStreams;
  const auto may_double = [&](index_t blocks, index_t most) {
    return 2 * blocks <= most && 2 * least * grid.parts * grid.warps <= shares;
  };
  // Those of a long row take a whole block, or a lane would have too many.
  while (grid.warps < kMostWarps && (shares > kWarp || may_double(groups * grid.warps, kColumns.blocks * kMostWarps))) {
    ++grid.warps.log2;
  }
  while (grid.warps == kMostWarps && 2 * splits * grid.parts <= kColumns.most_units &&
         may_double(groups * splits * grid.parts, kColumns.blocks)) {
    ++grid.parts.log2;
  }
  if (least < kStreams && shares < kStreams * grid.parts * grid.warps) grid.at_once.log2 = 1;
  grid.blocks = ceil_div(groups, kMostWarps / grid.warps);
  const index_t units = splits * grid.parts;
  const Grid launched = blocks_for(grid.blocks * units, kColumns.threads);
  if (units == 1) {
    launch(fold_columns_kernel<kWarp, Op, kRows>, call, launched, in, out, grid, Published<Partial<Op>>{}, nullptr,
           Overlap{});
    return;
  }
  using Shared = Published<Partial<Op>>;
  const Workspace workspace(call, 0, std::size_t(call.rows * units) * Shared::kWords);
  launch(fold_columns_kernel<kWarp, Op, kRows>, call, launched, in, out, grid,
         Shared{workspace.tagged(), workspace.tag()}, workspace.counters(), Overlap{});
}

template <int kWarp, typename Op>
void fold_columns(const Call& call, const Results<Op>& out, index_t length, PowerOfTwo shares, int partials) {
  using Input = typename Op::Input;
  if constexpr (kTakesWide<Op>) {
    const bool are_enough = call.rows >= kWide<Input>.least_rows &&
                            call.rows * call.cols * index_t(sizeof(Input)) >= kWide<Input>.least_bytes;
    if (are_enough && call.in.has_row_vectors(call.rows, call.cols, 2)) {
      return launch_fold_columns<kWarp, Op, 2>(call, out, length, shares, partials);
    }
  }
  launch_fold_columns<kWarp, Op, 1>(call, out, length, shares, partials);
}

}  // namespace gp
