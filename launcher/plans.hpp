// What repeated calls come to: one launch, with what must hold of the arrays' addresses besides their layouts.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "facts.hpp"
#include "key.hpp"

namespace gpuport::launcher {

// A backend's enqueueing of a prepared call on other memory; not 0 with Python's error set.
using Enqueue = int (*)(const void* call, void* input, void* output, void* stream);

// The bytes that an array takes up, from its address on: first and past the last.
struct Reach {
  std::int64_t begin, end;
};

struct Plan {
  Enqueue enqueue;
  const void* call;
  nb::object owner;  // of the call
  Reach x, out;
  bool in_place;    // out is x itself; else no byte may be of both
  nb::object make;  // (x) -> a new array for the result, where out= was not given

  bool reads(const Facts& x_now) const { return x.end <= x_now.room; }
  bool writes(const Facts& x_now, const Facts& out_now) const {
    if (out.end > out_now.room) return false;
    const auto distance = std::int64_t(out_now.address - x_now.address);
    if (in_place) return distance == 0;
    return distance + out.begin >= x.end || distance + out.end <= x.begin;
  }
};

// Plans by their keys. A call that came to more than one launch has an empty plan: it takes the whole way each time.
class Plans {
 public:
  using Entry = std::shared_ptr<const Plan>;

  explicit Plans(std::size_t most) : most_(most) {}
  // Null where the call is new.
  const Entry* find(const Key& key) const {
    const auto found = plans_.find(key.words());
    return found == plans_.end() ? nullptr : &found->second.plan;
  }
  // A program with more layouts than the most starts anew.
  void add(StoredKey key, Entry plan);
  void clear();
  std::vector<bool> filled() const;
  std::size_t most() const { return most_; }
  void set_most(std::size_t most) { most_ = most; }

 private:
  using Words = std::vector<std::uint64_t>;
  struct Stored {
    Entry plan;
    std::vector<nb::object> kept;  // by the key
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::span<const std::uint64_t> words) const {
      std::uint64_t hash = words.size();
      for (const std::uint64_t word : words) hash = (hash ^ word ^ hash >> 29) * 0x9e3779b97f4a7c15u;
      return std::size_t(hash ^ hash >> 32);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) const {
      return std::ranges::equal(a, b);
    }
  };

  std::size_t most_;
  std::unordered_map<Words, Stored, Hash, Equal> plans_;
};

}  // namespace gpuport::launcher
