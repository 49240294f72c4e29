// Refusals of what device code asked for: a GPU leaves these undefined.
#include "gpuport_simt/errors.h"
#include "machine.h"

namespace gpuport::simt {

namespace {

[[noreturn]] void refuse(const char* operation, Site site, const std::string& why) {
  stop(cudaErrorLaunchFailure,
       std::string(operation) + " at " + site_text(site) + ": " + why + "; " + where(*current_warp, current_lane));
}

}  // namespace

void refuse_mask(LaneMask mask, const char* operation, Site site) {
  const LaneMask warp = ~LaneMask(0) >> (kMaxLanes - unsigned(warpSize));
  const std::string names = "its mask names lanes " + lanes_text(mask);
  if ((mask & ~warp) != 0) refuse(operation, site, names + ", a warp has " + std::to_string(warpSize));
  if ((mask & ~current_warp->full) != 0)
    refuse(operation, site, names + ", the block has only lanes " + lanes_text(current_warp->full) + " in this warp");
  refuse(operation, site, names + " and not the calling lane");
}

void refuse_width(int width, const char* operation, Site site) {
  refuse(operation, site, "the width " + std::to_string(width) + " is not a power of two from 1 to the warp's " +
                              std::to_string(warpSize));
}

void refuse_source(unsigned source, LaneMask mask, const char* operation, Site site) {
  if ((mask & ~current_warp->full) != 0 || (mask >> current_lane & 1) == 0) refuse_mask(mask, operation, site);
  refuse(operation, site, "it reads lane " + std::to_string(source) + ", which does not take part: its mask names lanes " +
                              lanes_text(mask));
}

void trap(const char* what, Site site) {
  stop(cudaErrorLaunchFailure, std::string(what) + " at " + site_text(site) + "; " + where(*current_warp, current_lane));
}

}  // namespace gpuport::simt
