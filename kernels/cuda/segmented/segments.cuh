// Segments of a row as one list, in which the end of each segment stands behind its elements; how the list is cut into
// parts of equal length, and how what the parts leave of the segments that they share is joined.
#pragma once

#include <gpuport/gpuport.cuh>

namespace gp::segmented {

template <typename Op>
struct Segments {
  View2<const typename Op::Input> in;  // one row
  const std::int64_t* offsets;         // count + 1 of them
  index_t count;
  Results<Op> out;

  GP_DEVICE index_t end(index_t segment) const { return offsets[segment + 1]; }
};

// An end counts as this many elements: it moves 12 bytes or more, its offset and a result, and takes more steps.
inline constexpr int kEndItems = 4;

// A place in the list: how many segments have ended before it, and the element that comes next.
struct Place {
  index_t ended, element;
};

// The place of item `item`, by a whole group of lanes: each step asks as many ends as there are lanes, so there are few
// round trips to memory. The first step asks around where the place would be if all segments were of one length,
// closely near it and ever more sparsely away from it: that is enough where they nearly are. An item past the end of
// the list stands at its end, one within an end stands before that. Where no segment ends in between the place moves
// back to a multiple of `step` elements.
template <typename Group, typename Op>
GP_DEVICE Place find(const Segments<Op>& segments, index_t item, double ends_per_item, int step) {
  constexpr int kLanes = Group::kLanes;
  const index_t begin = segments.offsets[0], end = segments.offsets[segments.count];
  // `low` segments end before the item at least, `high` at most; where fewer than all do, the end after them is asked.
  index_t low = 0, high = smaller(segments.count, item / kEndItems + 1);
  index_t last_end = begin, next_end = end;  // before the place and after it
  const int side = Group::lane() - kLanes / 2;
  index_t asked = index_t(double(item) * ends_per_item);
  if (side < 0) asked -= index_t(1) << 2 * (-side - 1);
  if (side > 0) asked += index_t(1) << 2 * (side - 1);
  while (low < high) {
    asked = asked < low ? low : asked < high ? asked : high - 1;
    // The ends are in order: the lanes that agree come first.
    const index_t answer = segments.end(asked);
    const int before = Group::count(answer - begin + (asked + 1) * kEndItems <= item);
    if (before < kLanes) {
      high = Group::shuffle(asked, before);
      next_end = Group::shuffle(answer, before);
    }
    if (before > 0) {
      low = Group::shuffle(asked, before - 1) + 1;
      last_end = Group::shuffle(answer, before - 1);
    }
    asked = low + (high - low + kLanes - 1) / kLanes * Group::lane();
  }
  const index_t element = smaller(begin + item - low * kEndItems, next_end), stepped = element / step * step;
  return {low, stepped >= last_end ? stepped : element};
}

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

// What a part of the list leaves of the segments that it shares with its neighbours.
template <typename Op>
struct Edge {
  typename Op::State head;  // of the first segment that ends in the part: what lies in the part
  typename Op::State tail;  // of the segment that the part's end cuts
  index_t ended;            // the number of the first segment that ends in the part, -1 where none does

  static GP_DEVICE Edge none() { return {Op::identity(), Op::identity(), -1}; }
  GP_DEVICE typename Carry<Op>::State carry() const { return {tail, ended >= 0}; }
};

// Joins the edges of neighbouring parts, one a lane: every lane holds the edge of all of them. Writes the segments that
// began in one of the parts and ended in a later one.
template <typename W, typename Op>
GP_DEVICE Edge<Op> join(const Edge<Op>& edge, const Results<Op>& out) {
  const auto left = W::template exclusive_scan<Carry<Op>>(edge.carry());
  const auto head = Op::combine(left.value, edge.head);
  const bool ends = edge.ended >= 0;
  if (ends && left.ended) out.write(edge.ended, head);
  // The lane where the first segment ends.
  const lane_mask_t first = W::ballot(ends && !left.ended);
  const int lane = first != 0 ? __ffsll(static_cast<long long>(first)) - 1 : 0;
  const auto total = Carry<Op>::combine(left, edge.carry());
  return {W::shuffle(head, lane), W::shuffle(total.value, W::kLanes - 1), W::shuffle(edge.ended, lane)};
}

}  // namespace gp::segmented
