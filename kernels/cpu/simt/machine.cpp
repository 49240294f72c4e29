// The scheduler: who runs next when a lane has to wait or has ended.
//
// A context is a loop that runs one thread of the block after another. A thread that never waits costs one turn of the
// loop. A thread that waits keeps the context that it stands on, and whoever is chosen next either has a context of his
// own to go on in, or has not begun, and then gets a new loop.
#include "machine.h"

#include <cstring>
#include <new>

#include "gpuport_simt/errors.h"

GPUPORT_SIMT_STATE __thread uint3 threadIdx;
GPUPORT_SIMT_STATE __thread uint3 blockIdx;
GPUPORT_SIMT_STATE __thread dim3 blockDim;
GPUPORT_SIMT_STATE __thread dim3 gridDim;
GPUPORT_SIMT_STATE __thread int warpSize;

namespace gpuport::simt {

GPUPORT_SIMT_STATE __thread Warp* current_warp;
GPUPORT_SIMT_STATE __thread unsigned current_lane;
GPUPORT_SIMT_STATE __thread unsigned long long* current_progress;
thread_local Worker* current_worker;

namespace {

constexpr LaneMask bit_of(unsigned lane) { return LaneMask(1) << lane; }
inline unsigned lowest(LaneMask lanes) { return unsigned(__builtin_ctzll(lanes)); }

unsigned random_bit(LaneMask set, std::uint64_t random) {
  for (unsigned skip = unsigned(random % unsigned(__builtin_popcountll(set))); skip > 0; --skip) set &= set - 1;
  return lowest(set);
}

// `rest` is who of the warp can run beside the lane.
inline void make_current(Warp* warp, unsigned lane, LaneMask rest) {
  warp->ready = rest;
  threadIdx = warp->thread[lane];
  current_lane = lane;
}

// The lowest of `ready`, which is one lane at least.
inline void make_lowest_current(Warp* warp, LaneMask ready) { make_current(warp, lowest(ready), ready & (ready - 1)); }

void enter_warp(Worker& worker, Warp* warp, unsigned lane) {
  current_warp = warp;
  if (!worker.launch->outer_shared.empty()) [[unlikely]]
    bring_outer_shared(worker, state(warp));
  blockIdx = state(warp).index;
  make_current(warp, lane, warp->ready & ~bit_of(lane));
}

// The lanes of the warp that stand in __activemask at the same place go on together.
void release_converged(Warp* warp) {
  const Site site = warp->site[lowest(warp->converging)];
  LaneMask together = 0;
  for (LaneMask rest = warp->converging; rest != 0; rest &= rest - 1) {
    const unsigned lane = lowest(rest);
    if (warp->site[lane].line == site.line && warp->site[lane].file == site.file) together |= bit_of(lane);
  }
  for (LaneMask rest = together; rest != 0; rest &= rest - 1)
    std::memcpy(warp->taken[lowest(rest)].bytes, &together, sizeof together);
  warp->converging &= ~together;
  warp->ready |= together;
}

// Makes the next thread current, any block of this worker's. False when the launch has nothing left to do here.
bool choose(Warp* warp) {
  Worker& worker = *current_worker;
  if (worker.launch->stopped.load(std::memory_order_relaxed)) return false;
  if (warp->ready == 0 && warp->converging != 0) release_converged(warp);
  if (warp->ready != 0 && warp->natural) {
    make_lowest_current(warp, warp->ready);
    return true;
  }
  if (warp->ready == 0) warp->block->ready_warps &= ~(1u << warp->index);

  for (;;) {
    if (worker.position < worker.active.size()) {
      BlockState& block = *worker.active[worker.position];
      if (block.ready_warps != 0) {
        const unsigned next =
            block.warp->natural ? lowest(block.ready_warps) : random_bit(block.ready_warps, worker.next_random());
        Warp* const chosen = block.warp + next;
        enter_warp(worker, chosen,
                   chosen->natural ? lowest(chosen->ready) : random_bit(chosen->ready, worker.next_random()));
        return true;
      }
      if (block.is_done()) {
        ++worker.progress;
        worker.idle.push_back(std::move(worker.active[worker.position]));
        worker.active[worker.position] = std::move(worker.active.back());
        worker.active.pop_back();
      } else if (block.polled_warps == 0) {
        stop(cudaErrorLaunchFailure, "no thread of the block can go on: " + waits_text(block));
      } else {
        ++worker.position;
      }
      continue;
    }
    // Nobody here can run. Blocks that have not begun are the next to be tried, where they may run beside these.
    if ((worker.active.empty() || worker.launch->request->resident) && worker.start_block()) continue;
    if (worker.active.empty()) return false;
    end_of_round(worker);
    if (worker.launch->stopped.load(std::memory_order_relaxed)) return false;
    worker.position = 0;
  }
}

inline void end_thread(Warp* warp, unsigned lane) {
  Block& block = *warp->block;
  warp->exited |= bit_of(lane);
  warp->context[lane] = nullptr;
  ++block.exited;
  if (block.arrived != 0 || (warp->arrived | warp->grouped) != 0) [[unlikely]]
    refuse_end(warp, lane);  // comes back if nobody waits for this lane
}

[[noreturn]] void leave_to_base() {
  void* forgotten;
  gpuport_simt_switch(&forgotten, current_worker->base);
  __builtin_unreachable();
}

// The body of every context.
void run_threads() {
  Worker& worker = *current_worker;
  char* const stack = worker.starting;
  const Request& request = *worker.launch->request;
  bool failed = false;
  for (;;) {
    try {
      request.run(request.bound);
    } catch (...) {
      note_exception();
      failed = true;
    }
    if (failed) [[unlikely]]
      leave_to_base();
    if (!worker.stacks->is_intact(stack)) [[unlikely]]
      refuse_overflow();
    Warp* const warp = current_warp;
    end_thread(warp, current_lane);
    if (warp->ready != 0 && warp->natural) [[likely]]
      make_lowest_current(warp, warp->ready);
    else if (!choose(warp))
      leave_to_base();
    void* const context = current_warp->context[current_lane];
    if (context == nullptr) continue;
    worker.stacks->give(stack);
    void* forgotten;
    gpuport_simt_switch(&forgotten, context);
  }
}

// Lane `lane` of `warp` waits: runs somebody else until it is in `ready` and chosen.
__attribute__((noinline)) void leave_far(Warp* warp, unsigned lane) {
  if (!choose(warp)) leave_to_base();
  if (current_warp == warp && current_lane == lane) return;
  void* context = current_warp->context[current_lane];
  if (context == nullptr) {
    Worker& worker = *current_worker;
    worker.starting = worker.stacks->take();
    context = make_context(worker.starting, worker.stacks->stack_bytes(), run_threads);
  }
  gpuport_simt_switch(&warp->context[lane], context);
}

// The same from the end of a warp: most often the next warp of the block goes on where it waits.
__attribute__((noinline)) void leave_warp(Warp* warp, unsigned lane) {
  Block* const block = warp->block;
  const unsigned others = block->ready_warps & ~(1u << warp->index);
  if (others != 0 && (warp->converging == 0) & warp->natural) [[likely]] {
    Warp* const next_warp = block->warp + __builtin_ctz(others);
    const LaneMask ready = next_warp->ready;
    void* const context = next_warp->context[lowest(ready)];
    if (context != nullptr) [[likely]] {
      block->ready_warps = others;
      current_warp = next_warp;
      make_lowest_current(next_warp, ready);
      return gpuport_simt_switch(&warp->context[lane], context);
    }
  }
  leave_far(warp, lane);
}

// From lane to lane only `ready` waits for what the lane before stored: one load, one store and a cleared bit a lane.
__attribute__((always_inline)) inline void leave(Warp* warp, unsigned lane) {
  const LaneMask ready = warp->ready;
  if (ready == 0) return leave_warp(warp, lane);
  void* const context = warp->context[lowest(ready)];
  if (context == nullptr || !warp->natural) [[unlikely]]
    return leave_far(warp, lane);
  make_lowest_current(warp, ready);
  gpuport_simt_switch(&warp->context[lane], context);
}

void release_warp(Warp* warp, unsigned lane) {
  // The other half's votes were read by every lane before it came here.
  warp->phase ^= 1;
  warp->vote[warp->phase] = 0;
  warp->arrived = 0;
  warp->ready = warp->full & ~bit_of(lane);
}

void release_block(Warp* warp, unsigned lane) {
  Block* const block = warp->block;
  block->phase ^= 1;
  block->votes[block->phase] = 0;
  block->arrived = 0;
  for (unsigned i = 0; i < block->warps; ++i) block->warp[i].ready = block->warp[i].full;
  warp->ready &= ~bit_of(lane);
  block->ready_warps = unsigned((std::uint64_t(1) << block->warps) - 1);
}

// The first thread at a barrier says which barrier it is; one that stands at another place is refused.
__attribute__((noinline)) void wait_block_first(Warp* warp, unsigned lane) {
  Block* const block = warp->block;
  if (block->arrived == 0) {
    block->barrier = warp->site[lane];
    if (block->exited != 0) {
      warp->ready |= bit_of(lane);  // not one of those that wait
      refuse_barrier_after_end(warp, lane);
    }
  } else {
    refuse_other_barrier(warp, lane);  // comes back if it is the same place after all
  }
  if (++block->arrived == block->threads) return release_block(warp, lane);
  leave(warp, lane);
}

}  // namespace

BlockState& state(Warp* warp) { return *static_cast<BlockState*>(warp->block); }

// The two waits that everything is made of. Every call in them but the first-level inline ones is a tail call, so the
// compiler saves no registers around them; the switch does.

void wait_warp(Op op, Site site) {
  Warp* const warp = current_warp;
  const unsigned lane = current_lane;
  const LaneMask before = warp->arrived, bit = bit_of(lane), arrived = before | bit;
  warp->site[lane] = site;
  if (before == 0) {
    warp->op = op;
  } else if (warp->op != op) [[unlikely]] {
    return refuse_other_op(warp, lane, op, before, warp->op);
  }
  if (arrived == warp->full) return release_warp(warp, lane);
  if (warp->exited != 0) [[unlikely]]
    return refuse_wait_for_ended(warp, lane, op, warp->full);
  warp->arrived = arrived;
  leave(warp, lane);
}

void wait_block(Site site) {
  Warp* const warp = current_warp;
  const unsigned lane = current_lane;
  Block* const block = warp->block;
  const unsigned before = block->arrived;
  warp->site[lane] = site;
  if (before == 0 || block->barrier.line != site.line || block->barrier.file != site.file) [[unlikely]]
    return wait_block_first(warp, lane);
  if (before + 1 == block->threads) return release_block(warp, lane);
  block->arrived = before + 1;
  leave(warp, lane);
}

void wait_group(LaneMask mask, Op op, unsigned source, Resolve resolve, Site site) {
  Warp* const warp = current_warp;
  const unsigned lane = current_lane;
  Group& group = warp->group[lowest(mask)];
  const LaneMask bit = bit_of(lane);
  warp->site[lane] = site;
  warp->source[lane] = source;
  if (group.arrived == 0) {
    group.mask = mask;
    group.op = op;
  } else if (group.op != op) {
    refuse_other_op(warp, lane, op, group.arrived, group.op);
  } else if (group.mask != mask) {
    refuse_other_mask(warp, lane, mask, group);
  }
  if ((mask & warp->exited) != 0) refuse_wait_for_ended(warp, lane, op, mask);
  group.arrived |= bit;
  if (group.arrived == mask) {
    for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
      const unsigned to = lowest(rest);
      resolve(warp->given, mask, to, warp->source[to], &warp->taken[to]);
    }
    group.arrived = 0;
    warp->grouped &= ~mask;
    warp->ready |= mask & ~bit;
    return;
  }
  warp->grouped |= bit;
  leave(warp, lane);
}

LaneMask wait_converged(Site site) {
  Warp* const warp = current_warp;
  const unsigned lane = current_lane;
  warp->site[lane] = site;
  warp->converging |= bit_of(lane);
  leave_far(warp, lane);
  LaneMask together;
  std::memcpy(&together, warp->taken[lane].bytes, sizeof together);
  return together;
}

void yield(Site site) {
  Warp* const warp = current_warp;
  if (warp == nullptr) return;
  const unsigned lane = current_lane;
  warp->site[lane] = site;
  warp->polled |= bit_of(lane);
  warp->block->polled_warps |= 1u << warp->index;
  leave(warp, lane);
}

void stop(int code, const std::string& text) {
  current_worker->launch->fail(code, text);
  leave_to_base();
}

void Worker::run(Launch& next) {
  launch = &next;
  if (!stacks || stacks->stack_bytes() != next.stack_bytes) stacks = std::make_unique<StackPool>(next.stack_bytes);
  for (auto& block : idle)
    if (block->warp_size != next.warp_size || block->shape.x != next.block.x || block->shape.y != next.block.y ||
        block->shape.z != next.block.z || block->arena_bytes < next.shared_limit) {
      idle.clear();
      break;
    }
  random = next.seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  position = 0;
  rounds = signature = 0;
  outer_owner = nullptr;
  Worker* const outer = current_worker;
  current_worker = this;
  current_progress = &progress;
  blockDim = next.block;
  gridDim = next.grid;
  warpSize = int(next.warp_size);
  set_working(*this, true);
  try {
    if (!next.stopped && start_block()) {
      BlockState& block = *active[0];
      Warp* const warp = block.warp + (next.seeded ? random_bit(block.ready_warps, next_random()) : 0);
      enter_warp(*this, warp, next.seeded ? random_bit(warp->ready, next_random()) : 0);
      starting = stacks->take();
      gpuport_simt_switch(&base, make_context(starting, stacks->stack_bytes(), run_threads));
    }
  } catch (const std::bad_alloc&) {
    next.fail(cudaErrorMemoryAllocation, "no memory for the contexts of a block");
  }
  set_working(*this, false);
  current_warp = nullptr;
  current_progress = nullptr;
  current_worker = outer;
  // After a failure there are contexts that never ended; without one there are none. Their stacks are free either way.
  stacks->take_back_all();
  stacks->trim();
  active.clear();
  if (next.stopped) idle.clear();
  constexpr std::size_t kKeptBlocks = 8;
  if (idle.size() > kKeptBlocks) idle.resize(kKeptBlocks);
}

std::uint64_t Worker::next_random() {
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return random * 0x2545f4914f6cdd1du >> 16;
}

bool Worker::start_block() {
  if (launch->stopped.load(std::memory_order_relaxed)) return false;
  const std::uint64_t ticket = launch->next_block.fetch_add(1, std::memory_order_relaxed);
  if (ticket >= launch->blocks) return false;
  if (idle.empty()) {
    active.push_back(std::make_unique<BlockState>(launch->block, launch->warp_size, launch->shared_limit));
  } else {
    active.push_back(std::move(idle.back()));
    idle.pop_back();
  }
  position = active.size() - 1;
  if (outer_owner == active.back().get()) outer_owner = nullptr;  // an earlier block's state, used again
  active.back()->start(*launch, ticket);
  ++progress;
  return true;
}

}  // namespace gpuport::simt
