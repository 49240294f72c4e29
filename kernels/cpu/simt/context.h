// Contexts: a stack and a place to go on. The switch, and the pool that stacks come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gpuport::simt {

// `ucontext` where there is no hand-written switch; GPUPORT_SIMT_UCONTEXT asks for it anywhere.
#if !defined(__x86_64__) && !defined(GPUPORT_SIMT_UCONTEXT)
#define GPUPORT_SIMT_UCONTEXT 1
#endif

// Saves the calling context to *save and goes on in `to`. Comes back when somebody goes on in *save.
extern "C" __attribute__((visibility("hidden"))) void gpuport_simt_switch(void** save, void* to);

// A context that starts `entry` on the stack that ends at `top`. `entry` never returns.
void* make_context(char* top, std::size_t bytes, void (*entry)());

// Stacks of one worker. One mapping holds many of them, because a guard page for each would meet the kernel's limit on
// mappings at 32,765 stacks. A word at the top of every stack stands guard for the stack above it instead, and a closed
// page for all of them at either end.
class StackPool {
 public:
  explicit StackPool(std::size_t stack_bytes) : bytes_(stack_bytes) {}
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  char* take();                                   // the top of a free stack
  void give(char* top) { free_.push_back(top); }  // may be the stack that the caller still stands on, until it switches
  void take_back_all();                           // every stack is free again, whoever had it
  void trim();                                    // gives memory back to the system when there is much of it
  // False when the stack at `top` has run over its end.
  bool is_intact(const char* top) const {
    std::uint64_t word;
    std::memcpy(&word, top - bytes_ + kOffset, sizeof word);
    return word == kGuard;
  }
  // Whether a fault at that address, or a word between two stacks, says that some stack has run over its end.
  bool has_overflowed(const void* fault) const;
  std::size_t stack_bytes() const { return bytes_; }
  // How much of the stack that `address` lies in is above it.
  std::size_t used(const void* address) const;

 private:
  // Stacks a power of two apart compete for the same cache sets: 32 contexts then switch in 11 ns, with this offset
  // in 4.1 (3 cache lines: 6.0), 256 contexts in 12, with it in 6.1 (7.5).
  static constexpr std::size_t kOffset = 21 * 64;
  static constexpr std::uint64_t kGuard = 0x7a5c3e1d5b9f8642u;
  struct Chunk {
    void* mapping;
    char* memory;
    std::size_t stacks;
  };
  char* top(const Chunk& chunk, std::size_t i) const;
  void add_chunk();
  void guard_first(const Chunk& chunk);  // the word below the lowest stack; the others' are above their neighbours

  std::size_t bytes_;
  std::vector<Chunk> chunks_;
  std::size_t carved_ = 0;  // stacks of the last chunk that have been handed out at least once
  std::vector<char*> free_;
};

}  // namespace gpuport::simt
