// The search for a launch in which nothing can move any more.
//
// A thread that waits for memory to change comes back to yield() for ever, so "it polls" does not mean "it is stuck".
// Every 64 rounds of polling a worker looks at itself: has anything happened, has any thread got anywhere? The second
// is read off the saved contexts: a thread that has left one waiting loop and is in another has other registers or
// another stack. (A thread that counts its turns looks busy for ever; it is given very many rounds.) A look that finds
// a change opens a new epoch for all workers. When every worker has looked three times in one epoch, each of its
// threads has polled again after the last change anywhere and has not moved. Then none will.
#include <sched.h>

#include "gpuport_simt/errors.h"
#include "machine.h"

namespace gpuport::simt {

namespace {

constexpr std::uint64_t kLookEvery = 64;                       // rounds
constexpr std::uint64_t kMostRounds = std::uint64_t(1) << 22;  // for loops whose contexts change though nothing happens

std::uint64_t signature_of(const Worker& worker) {
  const void* const here = __builtin_frame_address(0);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const auto& block : worker.active) {
    for (unsigned w = 0; w < block->warps; ++w) {
      const Warp& warp = block->warp[w];
      for (LaneMask rest = warp.polled; rest != 0; rest &= rest - 1) {
        // The lane that is looking has not switched yet; its stack begins at this frame.
        const bool looking = &warp == current_warp && unsigned(__builtin_ctzll(rest)) == current_lane;
        const void* const context = looking ? here : warp.context[__builtin_ctzll(rest)];
        const auto* word = static_cast<const std::uint64_t*>(context);
        for (std::size_t n = worker.stacks->used(context) / sizeof *word; n > 0; --n, ++word)
          hash = (hash ^ *word) * 0x100000001b3u;
      }
    }
  }
  return hash;
}

bool all_quiet(const Launch& launch) {
  for (const Worker* worker : launch.workers)
    if (worker->working && (worker->epoch != launch.epoch || worker->quiet_looks < 2)) return false;
  return true;
}

std::string stall_text(Launch& launch, const Worker& worker) {
  std::string text = "deadlock: every thread that has begun waits, and nothing that could end a wait is left to run";
  const std::uint64_t begun = std::min<std::uint64_t>(launch.next_block.load(), launch.blocks);
  if (begun < launch.blocks)
    text += "; " + std::to_string(launch.blocks - begun) +
            " blocks have not begun (blocks that wait for later ones need a cooperative launch)";
  std::size_t told = 0;
  for (const auto& block : worker.active) {
    constexpr std::size_t kMost = 4;
    if (++told > kMost) {
      text += "; and " + std::to_string(worker.active.size() - kMost) + " more blocks";
      break;
    }
    text += "; " + waits_text(*block);
  }
  return text;
}

}  // namespace

void set_working(Worker& worker, bool working) {
  const std::lock_guard<std::mutex> lock(worker.launch->mutex);
  worker.working = working;
  // Looks of an earlier launch say nothing about this one, whose epochs have the same numbers.
  worker.epoch = 0;
  worker.quiet_looks = 0;
  ++worker.launch->epoch;  // what it did last, nobody has looked at
}

void end_of_round(Worker& worker) {
  Launch& launch = *worker.launch;
  if (++worker.rounds % kLookEvery == 0) {
    const std::uint64_t signature = signature_of(worker);
    const bool happened = worker.progress != worker.seen_progress;
    const bool moved = signature != worker.signature && worker.rounds < kMostRounds;
    if (happened) worker.rounds = 0;
    worker.seen_progress = worker.progress;
    worker.signature = signature;
    {
      const std::lock_guard<std::mutex> lock(launch.mutex);
      if (happened || moved) ++launch.epoch;
      if (worker.epoch != launch.epoch) {
        worker.epoch = launch.epoch;
        worker.quiet_looks = 0;
      } else {
        ++worker.quiet_looks;
      }
      if (all_quiet(launch)) {
        if (launch.error == 0) {
          launch.error = cudaErrorLaunchFailure;
          launch.detail = stall_text(launch, worker);
        }
        launch.stopped = true;
        return;
      }
    }
    sched_yield();  // whoever is waited for may need this core
  }
  for (const auto& block : worker.active) {
    for (unsigned w = 0; w < block->warps; ++w) {
      Warp& warp = block->warp[w];
      warp.ready |= warp.polled;
      warp.polled = 0;
    }
    block->ready_warps |= block->polled_warps;
    block->polled_warps = 0;
  }
}

}  // namespace gpuport::simt
