// A vendor library's call, prepared: its temporary storage is there, so that what is timed is the call alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace baselines {

// Of what a benchmark asks. Arrays are on the device; `keep` and `offsets` are null where the operation has none.
struct Request {
  std::string op;     // sum, exclusive_scan, inclusive_scan, argmax, compact, compact_nonzero, segmented_sum
  std::string dtype;  // of x; integers are added as int64
  std::int64_t count = 0, segments = 0;
  const void* x = nullptr;
  const void* keep = nullptr;
  const void* offsets = nullptr;  // int64
  void* out = nullptr;
  void* extra = nullptr;  // one int64: how many are kept; for argmax the value
  void* stream = nullptr;
};

class Job {
 public:
  virtual ~Job() = default;
  virtual void enqueue() = 0;
  virtual std::size_t temporary_bytes() const = 0;
};

// What the library has no call for, or what was not compiled.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::unique_ptr<Job> prepare(const Request& request);
std::string library_version();

}  // namespace baselines
