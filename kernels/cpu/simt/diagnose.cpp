// The words of errors: which thread, which lanes, who waits for what.
#include <cstring>

#include "machine.h"

namespace gpuport::simt {

namespace {

std::string triple(uint3 v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

}  // namespace

std::string op_name(Op op) {
  static constexpr const char* kNames[] = {
      "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",  "__shfl_xor_sync",
      "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
      "__reduce_or_sync",  "__reduce_xor_sync", "__match_any_sync",  "__match_all_sync",
      "__ballot_sync",     "__any_sync",        "__all_sync",        "__syncwarp"};
  const unsigned intrinsic = unsigned(op) & 15, bytes = (unsigned(op) >> 4) + 1;
  const std::string name = kNames[intrinsic];
  if (intrinsic >= unsigned(Op::kBallot)) return name;
  return name + " of " + std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string lanes_text(LaneMask lanes) {
  std::string text;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    unsigned last = lane;
    while (last + 1 < kMaxLanes && (lanes >> (last + 1) & 1) != 0) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(lane);
    if (last > lane) text += "-" + std::to_string(last);
    lane = last;
  }
  return text.empty() ? "none" : text;
}

std::string site_text(Site site) {
  const char* const slash = std::strrchr(site.file, '/');
  return std::string(slash ? slash + 1 : site.file) + ":" + std::to_string(site.line);
}

std::string where(const Warp& warp, unsigned lane) {
  const auto& block = *static_cast<const BlockState*>(warp.block);
  return "block " + triple(block.index) + ", warp " + std::to_string(warp.index) + ", lane " + std::to_string(lane) +
         " (thread " + triple(warp.thread[lane]) + ")";
}

std::string waits_text(const BlockState& block) {
  std::string text = "block " + triple(block.index);
  unsigned lines = 0;
  const auto add = [&](const Warp& warp, LaneMask lanes, const std::string& what) {
    constexpr unsigned kMost = 8;
    if (lanes == 0 || ++lines > kMost + 1) return;
    text +=
        lines > kMost ? "; and more" : "; warp " + std::to_string(warp.index) + ": lanes " + lanes_text(lanes) + what;
  };
  for (unsigned w = 0; w < block.warps; ++w) {
    const Warp& warp = block.warp[w];
    LaneMask rest = warp.full;
    add(warp, warp.exited, " have ended");
    rest &= ~warp.exited;
    for (const Group& group : warp.group) {
      if (group.arrived == 0) continue;
      add(warp, group.arrived,
          " wait in " + op_name(group.op) + " at " + site_text(warp.site[__builtin_ctzll(group.arrived)]) +
              " for lanes " + lanes_text(group.mask & ~group.arrived));
      rest &= ~group.arrived;
    }
    if (warp.arrived != 0)
      add(warp, warp.arrived,
          " wait in " + op_name(warp.op) + " at " + site_text(warp.site[__builtin_ctzll(warp.arrived)]) +
              " for lanes " + lanes_text(warp.full & ~warp.arrived));
    rest &= ~warp.arrived;
    // What is left and cannot run is at the barrier or polls; lanes of one place are one entry.
    for (const bool polls : {true, false}) {
      LaneMask lanes = polls ? rest & warp.polled : rest & ~warp.polled & ~warp.ready;
      while (lanes != 0) {
        const Site site = warp.site[__builtin_ctzll(lanes)];
        LaneMask same = 0;
        for (LaneMask l = lanes; l != 0; l &= l - 1)
          if (warp.site[__builtin_ctzll(l)].line == site.line) same |= l & -l;
        add(warp, same, (polls ? " poll in the loop at " : " wait at the barrier at ") + site_text(site));
        lanes &= ~same;
      }
    }
  }
  return text;
}

}  // namespace gpuport::simt
