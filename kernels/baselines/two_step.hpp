// The vendors' calling convention: with no temporary storage a call says how much it wants, with it it runs.
//
// Runtime has `Status`, check(Status), and allocate() and release() of device memory.
#pragma once

#include <utility>

#include "baseline.hpp"

namespace baselines {

// Temporary storage that all jobs share, as large as any of them wants: what a user keeps between calls.
template <typename Runtime>
class Scratch {
 public:
  static Scratch& shared() {
    static Scratch scratch;
    return scratch;
  }
  void reserve(std::size_t bytes) {
    if (memory_ != nullptr && bytes <= bytes_) return;
    if (memory_ != nullptr) Runtime::release(memory_);
    memory_ = Runtime::allocate(bytes == 0 ? 1 : bytes);
    bytes_ = bytes;
  }
  void* memory() const { return memory_; }

 private:
  Scratch() = default;
  void* memory_ = nullptr;  // not freed at exit: the driver may be gone by then
  std::size_t bytes_ = 0;
};

template <typename Runtime, typename Call>
class TwoStepJob : public Job {
 public:
  explicit TwoStepJob(Call call) : call_(std::move(call)) {
    Runtime::check(call_(nullptr, bytes_));
    Scratch<Runtime>::shared().reserve(bytes_);
  }
  void enqueue() override { Runtime::check(call_(Scratch<Runtime>::shared().memory(), bytes_)); }
  std::size_t temporary_bytes() const override { return bytes_; }

 private:
  Call call_;
  std::size_t bytes_ = 0;
};

template <typename Runtime, typename Call>
std::unique_ptr<Job> two_step_job(Call call) {
  return std::make_unique<TwoStepJob<Runtime, Call>>(std::move(call));
}

}  // namespace baselines
