// Releasing the interpreter's lock around native work.
#pragma once

#include <Python.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace gp {

// Python may end while another thread is in a call. That thread must not ask for the interpreter's lock then: the
// interpreter would end the thread by unwinding it, which C++ answers by ending the process. So the package's exit
// handler waits for the calls under way, and later ones keep the lock.
inline std::atomic<int> calls_without_lock{0};
inline std::atomic<bool> is_ending{false};

class LockRelease {
 public:
  LockRelease() {
    if (is_ending) return;
    ++calls_without_lock;
    state_ = PyEval_SaveThread();
  }
  ~LockRelease() {
    if (state_ == nullptr) return;
    PyEval_RestoreThread(state_);
    --calls_without_lock;
  }
  LockRelease(const LockRelease&) = delete;
  LockRelease& operator=(const LockRelease&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

inline void finish_calls() {
  is_ending = true;
  PyThreadState* const state = PyEval_SaveThread();
  while (calls_without_lock > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

}  // namespace gp
