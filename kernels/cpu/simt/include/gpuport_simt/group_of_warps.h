// Tiles of several warps: a barrier for each, and values that their threads show each other.
#pragma once

#include "machine.h"

namespace gpuport::simt {

// Of the tiles of one size in a block, in its shared memory. A thread shows a value by its address: the other threads
// of its block read it on this thread's stack while it waits.
struct WarpsMeeting {
  static constexpr unsigned long long kStarted = 0x5eed0f7135ca1e00u;
  unsigned long long started;  // shared memory is poisoned, and never with this
  unsigned arrived[kMaxThreads / 32], phase[kMaxThreads / 32];
  const void* shown[kMaxThreads];
};
template <unsigned kSize>
WarpsMeeting& meeting_of_warps() {
  static char tag;
  auto& meeting =
      *static_cast<WarpsMeeting*>(shared_object(&tag, sizeof(WarpsMeeting), alignof(WarpsMeeting), "tiles of warps"));
  // Threads of a block take turns, so the first one here is alone.
  if (meeting.started != WarpsMeeting::kStarted) {
    for (unsigned tile = 0; tile < kMaxThreads / 32; ++tile) meeting.arrived[tile] = meeting.phase[tile] = 0;
    meeting.started = WarpsMeeting::kStarted;
  }
  return meeting;
}
template <unsigned kSize>
void meet_warps(unsigned tile, Site site) {
  WarpsMeeting& meeting = meeting_of_warps<kSize>();
  if (++meeting.arrived[tile] == kSize) {
    meeting.arrived[tile] = 0;
    ++meeting.phase[tile];
    note_progress();
    return;
  }
  const unsigned phase = meeting.phase[tile];
  while (meeting.phase[tile] == phase) yield(site);
}

}  // namespace gpuport::simt
