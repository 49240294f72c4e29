// The search for a launch in which nothing can move any more.
//
// A thread that waits for memory to change comes back to yield() for ever, so "it polls" does not mean "it is stuck". What
// does: every thread of every worker is blocked or polls, none has got anywhere between two looks, and nothing happened in
// between on any worker. "Got anywhere" is read off the saved contexts: a thread that has left one waiting loop and is in
// another has other registers and another stack, and a thread that counts turns in the loop is given very many of them.
#include <sched.h>

#include "gpuport_simt/errors.h"
#include "machine.h"

namespace gpuport::simt {

namespace {

constexpr std::uint64_t kLookEvery = 64;                // rounds
constexpr std::uint64_t kMostRounds = std::uint64_t(1) << 22;  // for loops whose contexts change though nothing happens

std::uint64_t signature_of(const Worker& worker) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const auto& block : worker.active) {
    for (unsigned w = 0; w < block->warps; ++w) {
      const Warp& warp = block->warp[w];
      for (LaneMask rest = warp.polled; rest != 0; rest &= rest - 1) {
        const void* const context = warp.context[__builtin_ctzll(rest)];
        if (context == nullptr) continue;  // the caller itself, before its first switch
        const auto* word = static_cast<const std::uint64_t*>(context);
        for (std::size_t n = worker.stacks->used(context) / sizeof *word; n > 0; --n, ++word)
          hash = (hash ^ *word) * 0x100000001b3u;
      }
    }
  }
  return hash;
}

unsigned long long total_progress(Launch& launch) {
  unsigned long long total = 0;
  for (Worker* worker : launch.workers) total += __atomic_load_n(&worker->progress, __ATOMIC_RELAXED);
  return total;
}

bool all_stalled(Launch& launch, unsigned long long at) {
  for (Worker* worker : launch.workers)
    if (worker->working.load() && worker->stalled_at.load() != at) return false;
  return total_progress(launch) + 1 == at;
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

void end_of_round(Worker& worker) {
  Launch& launch = *worker.launch;
  const unsigned long long now = __atomic_load_n(&worker.progress, __ATOMIC_RELAXED);
  if (now != worker.seen_progress) {
    worker.seen_progress = now;
    worker.rounds = worker.signature = 0;
    worker.stalled_at = 0;
  }
  ++worker.rounds;
  if (worker.rounds % kLookEvery == 0) {
    const std::lock_guard<std::mutex> lock(launch.mutex);
    const std::uint64_t signature = signature_of(worker);
    if (signature != worker.signature && worker.rounds < kMostRounds) {
      worker.signature = signature;
      worker.stalled_at = 0;
    } else if (const unsigned long long total = total_progress(launch) + 1; worker.stalled_at != total) {
      worker.stalled_at = total;
    } else if (all_stalled(launch, total)) {
      launch.error = launch.error ? launch.error : int(cudaErrorLaunchFailure);
      if (launch.detail.empty()) launch.detail = stall_text(launch, worker);
      launch.stopped = true;
      return;
    }
    sched_yield();
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
