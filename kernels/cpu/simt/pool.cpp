// The OS threads that run blocks. They are started at the first launch that has more than one block and sleep in
// between.
#include <pthread.h>

#include <condition_variable>
#include <thread>

#include "fault.h"
#include "machine.h"

namespace gpuport::simt {

namespace {

// The launching thread is a worker too: a launch of one block wakes nobody.
class Pool {
 public:
  explicit Pool(unsigned helpers) {
    for (unsigned i = 0; i < helpers; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Pool() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // One launch at a time has the helpers; a second one that comes meanwhile runs on its own thread alone.
  bool try_open(Launch& launch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (launch_ != nullptr) return false;
    launch_ = &launch;
    ++generation_;
    const std::uint64_t wanted = launch.blocks - 1;
    for (std::uint64_t i = 0; i < wanted && i < threads_.size(); ++i) work_.notify_one();
    return true;
  }
  // Late helpers find the launch closed; those inside are waited for.
  void close() {
    std::unique_lock<std::mutex> lock(mutex_);
    launch_ = nullptr;
    idle_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  void serve() {
    // Before there is a launch to take part in: this waits for the loader, where a launch inside of dlopen has it.
    prepare_for_faults();
    Worker worker;
    std::uint64_t served = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return ending_ || (launch_ != nullptr && generation_ != served); });
      if (ending_) return;
      served = generation_;
      Launch& launch = *launch_;
      ++inside_;
      lock.unlock();
      {
        const std::lock_guard<std::mutex> member(launch.mutex);
        launch.workers.push_back(&worker);
      }
      worker.run(launch);
      lock.lock();
      if (--inside_ == 0) idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, idle_;
  Launch* launch_ = nullptr;
  std::uint64_t generation_ = 0;
  unsigned inside_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

std::mutex pool_mutex;
Pool* pool = nullptr;

// A forked child has none of its parent's threads: it forgets the pool (which cannot be destroyed) and starts its own.
void forget_pool() {
  pool = nullptr;
  new (&pool_mutex) std::mutex;
}

struct PoolOwner {
  PoolOwner() { pthread_atfork(nullptr, nullptr, forget_pool); }
  ~PoolOwner() {
    delete pool;
    pool = nullptr;
  }
} pool_owner;

}  // namespace

void run_on_workers(Launch& launch) {
  prepare_for_faults();
  thread_local Worker own;
  launch.workers.push_back(&own);
  bool open = false;
  if (launch.blocks > 1 && worker_count() > 1) {
    const std::lock_guard<std::mutex> lock(pool_mutex);
    if (pool == nullptr) pool = new Pool(worker_count() - 1);
    open = pool->try_open(launch);
  }
  own.run(launch);
  if (open) pool->close();
}

}  // namespace gpuport::simt
