// Block barriers, fences and what device code may ask of the machine.
#pragma once

#include <time.h>

#include "machine.h"

inline void __syncthreads(gpuport::simt::Site site = gpuport::simt::Site::here()) { gpuport::simt::wait_block(site); }

inline int __syncthreads_count(int predicate, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::Block* const block = gpuport::simt::current_warp->block;
  unsigned* const votes = &block->votes[block->phase];
  *votes += predicate != 0;
  gpuport::simt::wait_block(site);
  return int(*votes);
}
inline int __syncthreads_or(int predicate, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  return __syncthreads_count(predicate, site) != 0;
}
inline int __syncthreads_and(int predicate, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  return __syncthreads_count(predicate == 0, site) == 0;
}

// Code that comes to one of these again and again waits for somebody.
inline void __threadfence(gpuport::simt::Site site = gpuport::simt::Site::here()) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  gpuport::simt::note_poll(site);
}
inline void __threadfence_block(gpuport::simt::Site site = gpuport::simt::Site::here()) { __threadfence(site); }
inline void __threadfence_system(gpuport::simt::Site site = gpuport::simt::Site::here()) { __threadfence(site); }

inline void __nanosleep(unsigned, gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::yield(site);
}

inline void __trap(gpuport::simt::Site site = gpuport::simt::Site::here()) { gpuport::simt::trap("__trap()", site); }

inline void __brkpt(gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::trap("__brkpt() without a debugger", site);
}
inline void __prof_trigger(int) {}  // nothing is profiled here
#if !defined(__clang__)
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
#endif

// Nanoseconds, so that differences mean the same on every machine; not the clock of any processor.
inline long long clock64(gpuport::simt::Site site = gpuport::simt::Site::here()) {
  gpuport::simt::note_poll(site);
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}
