// Tiles that learn from each other within one launch: each publishes a value, and reads those of the tiles before it.
//
// A value travels in 64-bit words of which one half is the launch's tag, so a word that carries the tag is complete:
// no flag apart, no fence, and nothing to clear between launches (Workspace::tag). Readers combine each value once, in
// a grouping that the tiles' indices alone decide: floats repeat bit for bit. An operator that does not commute has
// them combined in the order of the tiles.
#pragma once

#include "async.cuh"
#include "memory.cuh"
#include "ops.cuh"
#include "runtime.hpp"
#include "warp.cuh"

namespace gp {

namespace detail {

// In a graph: the upper half of the word, which changes when every block has said that it knows it.
GP_DEVICE const std::uint32_t* replays_before(const LaunchTag& launch) {
  return reinterpret_cast<const std::uint32_t*>(launch.replays) + 1;
}

// By `readers` threads of every block: their shares add up to a carry into the upper half, which the last of them
// brings about. Nobody waits for it.
GP_DEVICE void knows_replays(const LaunchTag& launch, int reader, int readers) {
  const std::uint32_t others = gridDim.x * readers - 1, share = ~std::uint32_t(0) / (others + 1);
  const bool is_first = blockIdx.x == 0 && reader == 0;
  fetch_add_relaxed(launch.replays, is_first ? (std::uint64_t(1) << 32) - std::uint64_t(others) * share : share);
}

}  // namespace detail

// The tag of the launch, for one thread. Of every block so many call it, once each.
GP_DEVICE std::uint32_t take_tag(const LaunchTag& launch, int reader, int readers) {
  if (launch.replays == nullptr) return launch.tag;
  const std::uint32_t tag = load_acquire(detail::replays_before(launch)) + 1;  // before the share is added
  detail::knows_replays(launch, reader, readers);
  return tag;
}

// The same for all threads of a block, in shared memory, without waiting for it: one thread calls begin(), then end(),
// and after a barrier everyone has it.
class BlockTag {
 public:
  GP_DEVICE void begin(const LaunchTag& launch) {
    if (launch.replays != nullptr) copy_async(&replays_, detail::replays_before(launch));
    end_copy_group();
  }
  GP_DEVICE void end(const LaunchTag& launch) const {
    wait_for_copies<0>();
    if (launch.replays != nullptr) detail::knows_replays(launch, 0, 1);
  }
  GP_DEVICE std::uint32_t of(const LaunchTag& launch) const {
    return launch.replays == nullptr ? launch.tag : replays_ + 1;
  }

 private:
  std::uint32_t replays_;
};

template <typename State>
struct Published {
  static constexpr int kWords = (sizeof(State) + 3) / 4;
  using Slot = Words<kWords>;
  std::uint64_t* words;  // kWords for each slot
  LaunchTag launch;
  std::uint32_t tag = 0;  // set from the launch's by who publishes or reads

  GP_DEVICE void publish(index_t slot, const State& state) const {
    std::uint32_t halves[kWords] = {};
    __builtin_memcpy(halves, &state, sizeof(State));
    Slot content;
#pragma unroll
    for (int i = 0; i < kWords; ++i) content.word[i] = std::uint64_t(tag) << 32 | halves[i];
    store_relaxed(words + slot * kWords, content);
  }

  GP_DEVICE const std::uint64_t* at(index_t slot) const { return words + slot * kWords; }
  static GP_DEVICE Slot load(const std::uint64_t* slot) { return load_relaxed<kWords>(slot); }

  GP_DEVICE bool is_complete(const Slot& content) const {
    bool complete = true;
#pragma unroll
    for (int i = 0; i < kWords; ++i) complete &= std::uint32_t(content.word[i] >> 32) == tag;
    return complete;
  }

  static GP_DEVICE State value(const Slot& content) {
    std::uint32_t halves[kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i) halves[i] = std::uint32_t(content.word[i]);
    State state;
    __builtin_memcpy(&state, halves, sizeof(State));
    return state;
  }

  GP_DEVICE State wait_for(const std::uint64_t* slot) const {
    Slot content;
    wait_until([&] {
      content = load(slot);
      return is_complete(content);
    });
    return value(content);
  }
};

// The combination of the slots from `first`, extended from call to call; one warp calls together. A group is one slot
// of each lane: neighbours read neighbours, because every block of the launch waits for the same few lines of the L2
// cache. Whole groups are folded for good; what is left of the last is read again. kSlots are read at once: more take
// more registers, fewer take another trip to the L2 cache for many slots. Where the operator commutes each lane folds
// its own slots, and the lanes are combined once, at the end: the tile that waits for the answer waits for little else.
template <int kWarp, typename Op, int kSlots>
class RunningFold {
 public:
  using State = typename Op::State;

  // `end`: slots that there are from `first`.
  GP_DEVICE RunningFold(const Published<State>& published, index_t first, int end)
      : published_(published), first_(first), end_(end) {
    load();
  }

  // The combination of the first `count` slots, no fewer than in the call before. Lane 0 holds it.
  GP_DEVICE State through(int count) {
    using W = Warp<kWarp>;
    for (;;) {
      const int left = count - folded_, wanted = left - W::lane();
      wait_until([&] { return is_complete(wanted); });
      W::sync();  // the lanes have waited for different slots
      State states[kGroups];
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        states[g] = g * kWarp < wanted ? Slots::value(contents_[g]) : Op::identity();
      }
      if constexpr (!Commutes<Op>) W::template reduce_in_order<Op>(states);
      State rest = Op::identity();
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        if ((g + 1) * kWarp <= left) {
          state_ = Op::combine(state_, states[g]);
          folded_ += kWarp;
        } else if (g * kWarp < left) {
          rest = states[g];
        }
      }
      if (left < kGroups * kWarp) {
        const State all = Op::combine(state_, rest);
        return Commutes<Op> ? W::template reduce<Op>(all) : all;
      }
      load();
    }
  }

  // Reads ahead for the next call, so that it need not wait for the trip.
  GP_DEVICE void load() {
    const std::uint64_t* const slots = lane_slots();
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (folded_ + Warp<kWarp>::lane() + g * kWarp < end_) {
        contents_[g] = Slots::load(slots + g * kWarp * Slots::kWords);
      }
    }
  }

 private:
  using Slots = Published<State>;
  static_assert(kSlots > 0 && kSlots % kWarp == 0);
  static constexpr int kGroups = kSlots / kWarp;
  const Slots& published_;
  index_t first_;
  int end_;
  int folded_ = 0;                // slots
  State state_ = Op::identity();  // of those: the lane's own, or all of them in lane 0
  typename Slots::Slot contents_[kGroups];

  GP_DEVICE const std::uint64_t* lane_slots() const { return published_.at(first_ + folded_ + Warp<kWarp>::lane()); }

  // Of the slots that were read, those before the `wanted`th from the lane's first. Reads again those that are not, and
  // no other.
  GP_DEVICE bool is_complete(int wanted) {
    const std::uint64_t* const slots = lane_slots();
    bool complete = true;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (g * kWarp >= wanted || published_.is_complete(contents_[g])) continue;
      contents_[g] = Slots::load(slots + g * kWarp * Slots::kWords);
      complete = false;
    }
    return complete;
  }
};

}  // namespace gp
