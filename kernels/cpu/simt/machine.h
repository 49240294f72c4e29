// One launch, and the workers that run it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "context.h"
#include "gpuport_simt.h"

namespace gpuport::simt {

inline constexpr std::size_t kSharedDefault = std::size_t(48) << 10;
inline constexpr std::size_t kSharedOptIn = std::size_t(227) << 10;
inline constexpr std::size_t kDefaultStackBytes = std::size_t(32) << 10;

struct Worker;

struct Launch {
  const Request* request;
  std::string name;
  dim3 grid, block;
  unsigned threads;  // of a block
  unsigned warp_size;
  std::size_t dynamic_bytes, shared_limit, stack_bytes;
  std::vector<const OuterShared*> outer_shared;  // of the binary that has the kernel
  std::size_t outer_bytes = 0;
  bool seeded;
  std::uint64_t seed;
  std::uint64_t blocks;
  std::uint64_t order_step, order_start;  // block number i runs as start + i * step, modulo blocks
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<bool> stopped{false};
  std::atomic<std::uint64_t> grid_arrivals{0};  // blocks, over all grid barriers of the launch

  std::mutex mutex;  // of what follows
  int error = 0;
  std::string detail;
  std::vector<Worker*> workers;  // that take part
  std::uint64_t epoch = 1;       // one more each time that a look finds something moved

  void fail(int code, std::string text);  // the first failure stands
};

// A block with everything that it needs; reused by later blocks of the same shape.
struct BlockState : Block {
  BlockState(dim3 shape, unsigned warp_size, std::size_t arena_bytes);
  void start(const Launch& launch, std::uint64_t number);
  bool is_done() const { return exited == threads; }

  struct SharedObject {
    const void* tag;
    char* memory;
  };
  uint3 index;
  dim3 shape;
  unsigned warp_size;
  std::unique_ptr<Warp[]> warp_storage;
  std::vector<SharedObject> objects;
  std::size_t arena_used = 0;
  std::size_t arena_bytes;
  std::unique_ptr<char, void (*)(void*)> arena;
  std::vector<char> outer;  // what it has in variables that are shared memory, while another block runs here
};

// One OS thread's part of a launch. Contexts never leave the thread that started them.
struct Worker {
  void run(Launch& launch);  // takes blocks until there are none left, or the launch has failed

  Launch* launch = nullptr;
  std::unique_ptr<StackPool> stacks;
  void* base = nullptr;                             // the context of run()
  char* starting = nullptr;                         // the stack of the context that is about to start
  std::vector<std::unique_ptr<BlockState>> active;  // blocks that have begun and not ended
  std::vector<std::unique_ptr<BlockState>> idle;
  std::size_t position = 0;           // in `active`, of the running block
  BlockState* outer_owner = nullptr;  // whose shared memory is in this thread's variables
  std::uint64_t random = 0;
  unsigned polls = 0;

  // The search for a launch in which nothing can move (progress.cpp). `progress` is this worker's alone while it runs.
  unsigned long long progress = 0, seen_progress = 0;
  std::uint64_t rounds = 0, signature = 0;
  std::uint64_t epoch = 0;  // this and the next two under the launch's mutex
  unsigned quiet_looks = 0;
  bool working = false;

  std::uint64_t next_random();
  bool start_block();
};

extern thread_local Worker* current_worker;

// Records the failure and leaves the launch on this worker, with every context of it. Does not return.
[[noreturn]] void stop(int code, const std::string& text);

// Refusals of what a lane came to: refuse.cpp. Out of the hot functions, so that those stay short; the two that those
// call are not marked noreturn, because a tail call is all they may cost.
void refuse_other_op(Warp* warp, unsigned lane, Op op, LaneMask others, Op others_op);
[[noreturn]] void refuse_other_mask(Warp* warp, unsigned lane, LaneMask mask, const Group& group);
void refuse_wait_for_ended(Warp* warp, unsigned lane, Op op, LaneMask mask);
[[noreturn]] void refuse_barrier_after_end(Warp* warp, unsigned lane);
void refuse_other_barrier(Warp* warp, unsigned lane);
void refuse_end(Warp* warp, unsigned lane);
[[noreturn]] void refuse_overflow();
void note_exception();  // inside a handler

void end_of_round(Worker& worker);  // every block waits for another one or for a poll: progress.cpp
void set_working(Worker& worker, bool working);

// Text of errors: diagnose.cpp.
std::string where(const Warp& warp, unsigned lane);  // "block (0,0,0), warp 1, lane 3 (thread (35,0,0))"
std::string lanes_text(LaneMask lanes);              // "0-15,31"
std::string site_text(Site site);
std::string waits_text(const BlockState& block);  // who of the block waits for what
std::string op_name(Op op);                       // "__shfl_sync of 4 bytes"
BlockState& state(Warp* warp);

// Shared objects that are declared outside of functions: outer_shared.cpp.
void find_outer_shared(Launch& launch);
void start_outer_shared(BlockState& block, const Launch& launch);
void bring_outer_shared(Worker& worker, BlockState& block);

// What shared memory holds before anything is stored there.
void poison(char* memory, std::size_t bytes, const Launch& launch);

void run_on_workers(Launch& launch);  // pool.cpp

// What the environment asks for: environment.cpp.
inline constexpr long long kNoSeed = -1;
const std::string& environment_fault();  // why no launch may go ahead, or empty
long long environment_seed();
unsigned worker_count();

}  // namespace gpuport::simt
