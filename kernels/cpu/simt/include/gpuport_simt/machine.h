// The state of the SIMT machine that device code touches on its hot paths: the warp, and how a lane waits.
#pragma once

#include "types.h"

namespace gpuport::simt {

using LaneMask = unsigned long long;  // wide enough for both widths, everywhere

inline constexpr unsigned kMaxLanes = 64;
inline constexpr unsigned kMaxThreads = 1024;  // of a block
inline constexpr unsigned kMaxWarps = kMaxThreads / 32;

// Where device code called an operation. As a default argument it is the caller's place.
struct Site {
  const char* file;
  unsigned line;
  static constexpr Site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

// The intrinsic, of which there are 16; above it, the size of its operand less one. Lanes that meet must agree in both.
enum class Op : unsigned char {
  kShfl,
  kShflUp,
  kShflDown,
  kShflXor,
  kReduceAdd,
  kReduceMin,
  kReduceMax,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
  kMatchAny,
  kMatchAll,
  kBallot,  // from here on without an operand
  kAny,
  kAll,
  kSync
};
template <typename T>
constexpr Op op_on(Op intrinsic) {
  static_assert(sizeof(T) <= 16);
  return Op(unsigned(intrinsic) | unsigned(sizeof(T) - 1) << 4);
}

struct alignas(16) Slot {
  unsigned char bytes[16];
};

struct Block;

// What a partial-mask operation does once all its lanes are there: `values` as the lanes gave them, one result for
// `lane`.
using Resolve = void (*)(const Slot* values, LaneMask mask, unsigned lane, unsigned source, Slot* result);

// Lanes that meet under one mask which is not the whole warp. Masks of one warp that are in use at the same time are
// disjoint, so the lowest lane names the group.
struct Group {
  LaneMask mask, arrived;
  Op op;
};

struct Warp {
  LaneMask full;     // lanes that the block has
  LaneMask ready;    // lanes that can run, without the running one
  LaneMask arrived;  // lanes that wait in the whole-warp operation
  LaneMask vote[2];  // of the whole-warp operation; two, so that the last to arrive can go on while others still read
  unsigned phase;    // which half of `vote` and `exchange` the next whole-warp operation uses
  Op op;             // what `arrived` waits in
  bool natural;      // lanes run in their natural order: no seed
  unsigned char index;
  Block* block;
  LaneMask polled, exited, grouped, converging;  // yielded in this round; ended; in a Group; waiting in __activemask
  void* context[kMaxLanes];                      // saved stack pointer of a waiting lane, null before its start
  uint3 thread[kMaxLanes];
  Site site[kMaxLanes];  // of the operation that the lane waits in
  Slot exchange[2][kMaxLanes];
  Group group[kMaxLanes];
  Slot given[kMaxLanes], taken[kMaxLanes];  // of a Group's operation
  unsigned source[kMaxLanes];
};

struct Block {
  unsigned arrived;  // threads at the barrier
  unsigned threads;
  unsigned phase;     // which half of `votes` the next barrier uses
  unsigned votes[2];  // nonzero predicates of __syncthreads_count and its kin
  unsigned exited;
  unsigned warps;
  unsigned ready_warps, polled_warps;  // one bit a warp
  Site barrier;                        // of the first thread at the barrier
  Warp* warp;
};

extern __thread Warp* current_warp GPUPORT_SIMT_STATE;
extern __thread unsigned current_lane GPUPORT_SIMT_STATE;
// Things done that can let another thread go on. Only this worker writes it, others read it.
extern __thread unsigned long long* current_progress GPUPORT_SIMT_STATE;

// Each returns when the calling lane may go on; in between, other lanes run on this OS thread. They look up the calling
// lane themselves: a caller that keeps the variable's address in a register across the call has it restored by the
// switch, and the next lane's number then waits for that, which costs half of the speed.
GPUPORT_SIMT_RUNTIME void wait_warp(Op op, Site site);
GPUPORT_SIMT_RUNTIME void wait_group(LaneMask mask, Op op, unsigned source, Resolve resolve, Site site);
GPUPORT_SIMT_RUNTIME void wait_block(Site site);
GPUPORT_SIMT_RUNTIME LaneMask wait_converged(Site site);
// The barrier of all blocks; refused where the launch does not keep them all resident.
GPUPORT_SIMT_RUNTIME void wait_grid(Site site);
GPUPORT_SIMT_RUNTIME bool is_resident();

// Whether the address lies in the block's shared memory, in the stacks of its threads.
GPUPORT_SIMT_RUNTIME bool is_shared(const void* address);
GPUPORT_SIMT_RUNTIME bool is_local(const void* address);

// Ends the launch with an error about the calling lane. Does not return.
[[noreturn]] GPUPORT_SIMT_RUNTIME void refuse_mask(LaneMask mask, const char* operation, Site site);
[[noreturn]] GPUPORT_SIMT_RUNTIME void refuse_width(int width, const char* operation, Site site);
[[noreturn]] GPUPORT_SIMT_RUNTIME void refuse_tile(unsigned threads, Site site);
[[noreturn]] GPUPORT_SIMT_RUNTIME void refuse_source(unsigned source, LaneMask mask, const char* operation, Site site);
[[noreturn]] GPUPORT_SIMT_RUNTIME void trap(const char* what, Site site = Site::here());
// A failed assert(): of device code it ends the launch, of host code the process.
[[noreturn]] GPUPORT_SIMT_RUNTIME void fail_assertion(const char* condition, Site site, const char* function);

// Gives way inside a loop that waits for another thread. The loop is left only when what it waits for has come, so a
// launch in which every thread does nothing but come back here is one that cannot end, and is ended with an error.
GPUPORT_SIMT_RUNTIME void yield(Site site = Site::here());

inline void note_progress() {
  if (current_progress) __atomic_store_n(current_progress, *current_progress + 1, __ATOMIC_RELAXED);
}

// Stands in operations that change nothing: code that repeats one of them for long is waiting for somebody.
GPUPORT_SIMT_RUNTIME void note_poll(Site site);

GPUPORT_SIMT_RUNTIME void* shared_object(const void* tag, std::size_t bytes, std::size_t alignment, const char* name,
                                         Site site = Site::here());
GPUPORT_SIMT_RUNTIME void* dynamic_shared(std::size_t alignment, Site site = Site::here());

}  // namespace gpuport::simt
