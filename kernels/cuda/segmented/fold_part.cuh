// One warp folds a part of the list of elements and ends. It reads the elements in steps, a few packs a lane, of which
// the next is always on the way. In a step where no segment ends every lane folds what it has read to what it carries.
// Otherwise the step goes through shared memory, so that each lane gets neighbours; the lanes fold these between the
// ends, a scan over the lanes brings each what is open on its left, and the results are written one a lane, many on the
// way at once where there are many. Steps count from the start of the row, and a lane reads the same elements however
// they lie in memory, so which elements meet in which order depends on the offsets alone.
#pragma once

#include "segments.cuh"

namespace gp::segmented {

// How the list is cut into parts. Of a block: its threads, how many share a multiprocessor at least, the most in a grid
// and the fewest items of one; of a lane: the most elements of a step, which is what keeps memory busy, but no more
// states than shared memory has room for.
struct Cut {
  int threads, resident, most_blocks, least_items, step_items;
};

template <int kWarp, typename Op, int kMostItems>
struct PartFold {
  using W = Warp<kWarp>;
  using Input = typename Op::Input;
  using State = typename Op::State;

  static constexpr int kMostPacks = kMostItems / 4;
  static constexpr int kPackItems = gp::kPackItems<Input>;
  static constexpr int kPacks = int(smaller(larger(kMostItems / kPackItems, 1), kMostPacks));
  static constexpr int kItems = kPacks * kPackItems;
  static constexpr int kStep = kWarp * kItems;
  static constexpr int kRounds = 4;  // of ends, one a lane, on the way at once where a step has more than a round
  // Odd, so that lanes that read what is theirs use different banks.
  static constexpr int kPackPitch = kPacks | 1, kPitch = kItems + 1;
  static constexpr int kWordBits = 8 * int(sizeof(std::uint32_t));
  static constexpr int kWords = kStep / kWordBits;
  static_assert(kWords <= kWarp && kWordBits % kItems == 0);

  struct Storage {
    union {
      PackOf<Input> packs[kWarp * kPackPitch];
      State values[kWarp * kPitch];  // of the segments that end in the step, where their last elements stand
    };
    std::uint32_t last[kWords];  // a bit an element: whether it is the last of a segment
    Edge<Op> edge;
  };

  const Segments<Op>& segments;
  Storage& storage;
  const Input* start;  // of the first step
  index_t origin;      // the element there; the ints below count from it
  int begin, end;      // elements of the part
  int plain_end;       // of the elements of a contiguous row
  bool packed;         // whether it can be read as packs
  index_t first;       // segment that ends in the part; the ints below count from it
  int next, count;     // the first not met yet, and how many end in the part

  GP_DEVICE PartFold(const Segments<Op>& of, const Place& from, const Place& to, Storage& with)
      : segments(of), storage(with), first(from.ended), next(0), count(int(to.ended - from.ended)) {
    origin = from.element / kStep * kStep;
    begin = int(from.element - origin);
    end = int(to.element - origin);
    start = &segments.in(0, origin);
    plain_end = segments.in.col_stride == 1 ? end : 0;
    packed = is_packable(start, 1);
  }

  // An element that changes no result.
  GP_DEVICE Input neutral() const {
    if constexpr (Op::kCode == OpCode::kSum) {
      return Input(0);
    } else {
      return segments.out.op.finish(Op::identity());
    }
  }
  GP_DEVICE State lift(const Input& x) const { return segments.out.op.lift(x); }

  // A step: packs of neighbours, neutral outside of the part.
  GP_DEVICE void load(PackOf<Input> (&packs)[kPacks], int at) const {
    const int lane_at = at + W::lane() * kPackItems;
    if (at >= begin && at + kStep <= plain_end) {
      const Input* const mine = start + lane_at;
      if (packed) {
#pragma unroll
        for (int p = 0; p < kPacks; ++p) packs[p] = load_pack(mine + p * kWarp * kPackItems);
      } else {  // neighbours share cache lines, so that memory sees the same as of packs
#pragma unroll
        for (int p = 0; p < kPacks; ++p) {
#pragma unroll
          for (int i = 0; i < kPackItems; ++i) packs[p].items[i] = mine[p * kWarp * kPackItems + i];
        }
      }
      return;
    }
    const index_t stride = segments.in.col_stride;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int pack_at = lane_at + p * kWarp * kPackItems;
      const Input* const pack = start + pack_at * stride;
#pragma unroll
      for (int i = 0; i < kPackItems; ++i) {
        const bool inside = pack_at + i >= begin && pack_at + i < end;
        packs[p].items[i] = inside ? pack[i * stride] : neutral();
      }
    }
  }

  // Where a pack of the step stands in shared memory.
  static GP_DEVICE int staged(int pack) { return pack / kPacks * kPackPitch + pack % kPacks; }

  // Where the segments from `segment` on end, one a lane.
  GP_DEVICE int ends_from(int segment) const {
    segment += W::lane();
    return segment < count ? int(segments.end(first + segment) - origin) : std::numeric_limits<int>::max();
  }

  GP_DEVICE State fold(const PackOf<Input> (&packs)[kPacks]) const {
    State states[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      states[p] = lift(packs[p].items[0]);
#pragma unroll
      for (int i = 1; i < kPackItems; ++i) states[p] = Op::combine(states[p], lift(packs[p].items[i]));
    }
#pragma unroll
    for (int half = kPacks / 2; half > 0; half /= 2) {
#pragma unroll
      for (int p = 0; p < half; ++p) states[p] = Op::combine(states[p], states[p + half]);
    }
    return states[0];
  }

  // Marks the last elements of the segments that end in the step at `at`, of a round of ends, one a lane; whether all
  // of them do. `previous` is the last end met, or later.
  GP_DEVICE bool mark_round(int at, int ends, int& previous) {
    const bool here = ends <= at + kStep;
    int before = W::shuffle_up(ends, 1);
    if (W::lane() == 0) before = previous;
    if (here && ends > before) {  // else it has no element here
      const unsigned bit = ends - 1 - at;
      atomicOr(&storage.last[bit / kWordBits], 1u << bit % kWordBits);
    }
    const int met = W::count(here);
    if (met > 0) previous = W::shuffle(ends, met - 1);
    next += met;
    return met == kWarp;
  }

  // The same of all of them; `ends` are those of `next` and after it.
  GP_DEVICE void mark(int at, int& ends) {
    int previous = at > begin ? at : begin;
    bool more = mark_round(at, ends, previous);
    while (more) {
      int rounds[kRounds];
#pragma unroll
      for (int r = 0; r < kRounds; ++r) rounds[r] = ends_from(next + r * kWarp);
#pragma unroll
      for (int r = 0; r < kRounds; ++r) {
        if (more) more = mark_round(at, rounds[r], previous);
      }
    }
    ends = ends_from(next);
  }

  // Writes the segments from `from` up to `next`, whose values are there.
  template <int kCount>
  GP_DEVICE void write(int from, int at) {
#pragma unroll 1
    for (int base = from + W::lane(); base < next; base += kCount * kWarp) {
      int stands[kCount], before[kCount];
#pragma unroll
      for (int r = 0; r < kCount; ++r) {
        const int segment = base + r * kWarp;
        stands[r] = before[r] = begin;
        if (segment < next) stands[r] = int(segments.end(first + segment) - origin);
        if (segment < next && segment > 0) before[r] = int(segments.end(first + segment - 1) - origin);
      }
#pragma unroll
      for (int r = 0; r < kCount; ++r) {
        const int segment = base + r * kWarp;
        if (segment >= next) break;
        const int element = stands[r] - 1 - at;
        const State value = stands[r] > before[r] ? storage.values[element + element / kItems] : Op::identity();
        if (r == 0 && segment == 0) {
          storage.edge.head = value;
          storage.edge.ended = first;
        } else {
          segments.out.write(first + segment, value);
        }
      }
    }
  }

  // Folds a step in which segments end: writes them, and returns what is open after it.
  GP_DEVICE State close(const PackOf<Input> (&packs)[kPacks], int at, State open, int& ends) {
    const int lane = W::lane();
    const int from = next;
    W::sync();  // the values of an earlier step have been read
#pragma unroll
    for (int p = 0; p < kPacks; ++p) storage.packs[staged(p * kWarp + lane)] = packs[p];
    if (lane < kWords) storage.last[lane] = 0;
    W::sync();  // no bit is set
    mark(at, ends);
    W::sync();  // the elements and the bits are there
    PackOf<Input> mine[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) mine[p] = storage.packs[lane * kPackPitch + p];
    const std::uint32_t last =
        storage.last[lane * kItems / kWordBits] >> lane * kItems % kWordBits & ((std::uint64_t(1) << kItems) - 1);
    W::sync();  // the elements have been read: values may take their place

    State* const values = storage.values + lane * kPitch;
    State after = Op::identity();  // since the last end in this lane
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      after = Op::combine(after, lift(mine[i / kPackItems].items[i % kPackItems]));
      values[i] = after;  // read only where a segment ends
      if (last >> i & 1) after = Op::identity();
    }
    const lane_mask_t ended = W::ballot(last != 0);
    // Lane i holds what is open after it, of the lanes since the nearest one, i or before, in which a segment ends.
    constexpr int kMaskBits = 8 * int(sizeof(lane_mask_t));
    const int distance = __clzll(static_cast<long long>(ended << (kMaskBits - 1 - lane)));
    const int reach = distance < lane ? distance : lane;
    State left = after;
#pragma unroll
    for (int delta = 1; delta < kWarp; delta *= 2) {
      const State other = W::shuffle_up(left, delta);
      if (delta <= reach) left = Op::combine(other, left);
    }
    left = W::shuffle_up(left, 1);
    if (lane == 0) left = Op::identity();
    open = W::template all_reduce<Op>(open);
    if ((ended & W::lanes_below()) == 0) left = Op::combine(open, left);
    if (last != 0) {
      State& value = values[__ffs(int(last)) - 1];
      value = Op::combine(left, value);
    }
    W::sync();  // the values are there
    if (next - from <= kWarp) {
      write<1>(from, at);
    } else {
      write<kRounds>(from, at);
    }
    return ended >> lane >> 1 == 0 ? after : Op::identity();
  }

  // Leaves the part's edge in the storage.
  GP_DEVICE void run() {
    if (W::lane() == 0) storage.edge = Edge<Op>::none();
    PackOf<Input> packs[kPacks], ahead[kPacks] = {};
    int ends = ends_from(next);
    State open = Op::identity();
    // Before the first step there is nothing to fold: one place to load is half of the code of two. A part without
    // elements has a step all the same, in which segments end.
    for (int at = -kStep; at <= 0 || at < end; at += kStep) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) packs[p] = ahead[p];
      if (at < 0 || at + kStep < end) load(ahead, at + kStep);
      compiler_fence();  // the loads are on the way before this step is folded
      if (at < 0) continue;
      if (W::any(ends <= at + kStep)) {
        open = close(packs, at, open, ends);
      } else {
        open = Op::combine(open, fold(packs));
      }
    }
    open = W::template all_reduce<Op>(open);
    if (W::lane() == 0) storage.edge.tail = open;
  }
};

}  // namespace gp::segmented
