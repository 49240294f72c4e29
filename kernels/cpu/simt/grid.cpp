// Waiting for other blocks: the barrier of the grid, and loops that nobody wrote for this machine.
#include "gpuport_simt/errors.h"
#include "machine.h"

namespace gpuport::simt {

bool is_resident() { return current_worker->launch->request->resident; }

void wait_grid(Site site) {
  Launch& launch = *current_worker->launch;
  if (!is_resident())
    stop(cudaErrorLaunchFailure, "a barrier of the grid at " + site_text(site) + " needs a cooperative launch; " +
                                     where(*current_warp, current_lane));
  wait_block(site);
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    // All blocks of this barrier arrive before any of the next, so the round is over at a multiple of their number.
    const std::uint64_t arrival = launch.grid_arrivals.fetch_add(1);
    const std::uint64_t round_end = (arrival / launch.blocks + 1) * launch.blocks;
    note_progress();
    while (launch.grid_arrivals.load() < round_end) yield(site);
  }
  wait_block(site);
}

void note_poll(Site site) {
  constexpr unsigned kPatience = 64;
  if (current_worker == nullptr || ++current_worker->polls < kPatience) return;
  current_worker->polls = 0;
  yield(site);
}

}  // namespace gpuport::simt
