// Refusals of what a GPU leaves undefined.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "gpuport_simt/errors.h"
#include "machine.h"

namespace gpuport::simt {

namespace {

[[noreturn]] void refuse(const char* operation, Site site, const std::string& why) {
  stop(cudaErrorLaunchFailure,
       std::string(operation) + " at " + site_text(site) + ": " + why + "; " + where(*current_warp, current_lane));
}

[[noreturn]] void refuse(const std::string& why) { stop(cudaErrorLaunchFailure, why); }

}  // namespace

void refuse_other_op(Warp* warp, unsigned lane, Op op, LaneMask others, Op others_op) {
  refuse(where(*warp, lane) + " is in " + op_name(op) + " at " + site_text(warp->site[lane]) + ", but lanes " +
         lanes_text(others) + " of its warp wait for it in " + op_name(others_op) + " at " +
         site_text(warp->site[__builtin_ctzll(others)]));
}

void refuse_other_mask(Warp* warp, unsigned lane, LaneMask mask, const Group& group) {
  refuse(where(*warp, lane) + " is in " + op_name(group.op) + " at " + site_text(warp->site[lane]) +
         " with a mask of lanes " + lanes_text(mask) + ", but lanes " + lanes_text(group.arrived) +
         " wait there with a mask of lanes " + lanes_text(group.mask));
}

void refuse_wait_for_ended(Warp* warp, unsigned lane, Op op, LaneMask mask) {
  refuse(where(*warp, lane) + " waits in " + op_name(op) + " at " + site_text(warp->site[lane]) + " for lanes " +
         lanes_text(warp->exited & mask) + " of its warp, which have ended");
}

void refuse_barrier_after_end(Warp* warp, unsigned lane) {
  refuse(where(*warp, lane) + " waits at the barrier at " + site_text(warp->site[lane]) + ", but " +
         std::to_string(warp->block->exited) + " threads of its block have ended: " + waits_text(state(warp)));
}

void refuse_other_barrier(Warp* warp, unsigned lane) {
  const Site here = warp->site[lane], there = warp->block->barrier;
  if (here.line == there.line && std::strcmp(here.file, there.file) == 0) return;
  refuse(where(*warp, lane) + " is at the barrier at " + site_text(here) + ", but " +
         std::to_string(warp->block->arrived) + " threads of its block are at another, at " + site_text(there));
}

void refuse_end(Warp* warp, unsigned lane) {
  const Block& block = *warp->block;
  if (block.arrived != 0)
    refuse(where(*warp, lane) + " ended without the barrier at " + site_text(block.barrier) + ", where " +
           std::to_string(block.arrived) + " threads of its block wait");
  LaneMask waiting = warp->arrived;
  for (const Group& group : warp->group)
    if (group.arrived != 0 && (group.mask >> lane & 1) != 0) waiting |= group.arrived;
  if (waiting == 0) return;
  refuse(where(*warp, lane) + " ended without the warp operation at " +
         site_text(warp->site[__builtin_ctzll(waiting)]) + ", where lanes " + lanes_text(waiting) +
         " of its warp wait with a mask that names it");
}

void refuse_overflow() {
  refuse("a thread needs more stack than " + std::to_string(current_worker->stacks->stack_bytes()) +
         " bytes (cudaLimitStackSize); " + where(*current_warp, current_lane));
}

// Inside a handler. Leaving the launch from here would leave the exception alive, so the caller does that.
void note_exception() {
  const std::string thread = "; " + where(*current_warp, current_lane);
  try {
    throw;
  } catch (const std::exception& error) {
    current_worker->launch->fail(cudaErrorLaunchFailure,
                                 "a C++ exception left the kernel: " + std::string(error.what()) + thread);
  } catch (...) {
    current_worker->launch->fail(cudaErrorLaunchFailure, "a C++ exception left the kernel" + thread);
  }
}

void refuse_mask(LaneMask mask, const char* operation, Site site) {
  const std::string names = "its mask names lanes " + lanes_text(mask);
  if ((mask & ~current_warp->full) != 0)
    refuse(operation, site, names + ", the block has only lanes " + lanes_text(current_warp->full) + " in this warp");
  refuse(operation, site, names + " and not the calling lane");
}

void refuse_width(int width, const char* operation, Site site) {
  refuse(
      operation, site,
      "the width " + std::to_string(width) + " is not a power of two from 1 to the warp's " + std::to_string(warpSize));
}

void refuse_tile(unsigned threads, Site site) {
  const unsigned block = current_warp->block->threads;
  if (threads > block)
    refuse("a tile", site,
           "it has " + std::to_string(threads) + " threads, and the block only " + std::to_string(block));
  refuse("a tile", site,
         "the block's " + std::to_string(block) + " threads are no multiple of the tile's " + std::to_string(threads) +
             ", so the last tile has only " + std::to_string(block % threads));
}

void refuse_source(unsigned source, LaneMask mask, const char* operation, Site site) {
  if ((mask & ~current_warp->full) != 0 || (mask >> current_lane & 1) == 0) refuse_mask(mask, operation, site);
  refuse(operation, site,
         "it reads lane " + std::to_string(source) + ", which does not take part: its mask names lanes " +
             lanes_text(mask));
}

void trap(const char* what, Site site) {
  stop(cudaErrorLaunchFailure,
       std::string(what) + " at " + site_text(site) + "; " + where(*current_warp, current_lane));
}

void fail_assertion(const char* condition, Site site, const char* function) {
  if (current_warp != nullptr)
    stop(cudaErrorAssert, "assertion `" + std::string(condition) + "' failed at " + site_text(site) + "; " +
                              where(*current_warp, current_lane));
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", site.file, site.line, function, condition);
  std::abort();
}

}  // namespace gpuport::simt
