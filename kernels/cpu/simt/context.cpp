#include "context.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#if defined(GPUPORT_SIMT_UCONTEXT)
#include <ucontext.h>
#endif

namespace gpuport::simt {

#if defined(GPUPORT_SIMT_UCONTEXT)

// The saved context lives in the frame of the switch that left it.
extern "C" void gpuport_simt_switch(void** save, void* to) {
  ucontext_t self;
  *save = &self;
  swapcontext(&self, static_cast<ucontext_t*>(to));
}

void* make_context(char* top, std::size_t bytes, void (*entry)()) {
  // The start record sits at the top of the stack that it starts; it is not read again once the context runs.
  char* const record = top - (sizeof(ucontext_t) + 63) / 64 * 64;
  auto* const context = new (record) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = top - bytes;
  context->uc_stack.ss_size = bytes - std::size_t(top - record);
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

#else

// System V x86-64: six registers survive a call, and the floating-point control words, which device code does not
// change. It is a function, not inline assembly in the caller, so nothing of the caller's red zone lies where this
// writes. A ret would be predicted to go back to its own caller and would be wrong every time, hence the jmp; plain
// moves are a quarter faster than pushes and pops once the contexts do not fit the store buffer.
asm(R"(
.text
.globl gpuport_simt_switch
.hidden gpuport_simt_switch
.type gpuport_simt_switch, @function
.p2align 4
gpuport_simt_switch:
  leaq -48(%rsp), %rax
  movq %rbp, (%rax)
  movq %rbx, 8(%rax)
  movq %r12, 16(%rax)
  movq %r13, 24(%rax)
  movq %r14, 32(%rax)
  movq %r15, 40(%rax)
  movq %rax, (%rdi)
  movq (%rsi), %rbp
  movq 8(%rsi), %rbx
  movq 16(%rsi), %r12
  movq 24(%rsi), %r13
  movq 32(%rsi), %r14
  movq 40(%rsi), %r15
  movq 48(%rsi), %rcx
  leaq 56(%rsi), %rsp
  jmpq *%rcx
.size gpuport_simt_switch, .-gpuport_simt_switch
)");

void* make_context(char* top, std::size_t, void (*entry)()) {
  auto* stack = reinterpret_cast<std::uintptr_t*>(top) - 1;  // as after a call: 8 below a multiple of 16
  *stack = 0;                                                // no caller: a backtrace ends here
  *--stack = reinterpret_cast<std::uintptr_t>(entry);
  for (int i = 0; i < 6; ++i) *--stack = 0;
  return stack;
}

#endif

namespace {

constexpr std::size_t kChunkBytes = std::size_t(8) << 20;
constexpr std::size_t kHugePage = std::size_t(2) << 20;
constexpr std::size_t kPage = std::size_t(4) << 10;
// Closed below the stacks: as much as the largest stack, because a frame may reach far before it touches anything.
constexpr std::size_t kClosedBytes = std::size_t(1) << 20;
constexpr std::size_t kMappingBytes = kClosedBytes + kChunkBytes + kHugePage + kPage;
constexpr std::size_t kKeptChunks = 4;  // enough for a block of 1024 threads
constexpr std::size_t kGuardBytes = 32;

}  // namespace

StackPool::~StackPool() {
  for (const Chunk& chunk : chunks_) munmap(chunk.mapping, kMappingBytes);
}

char* StackPool::top(const Chunk& chunk, std::size_t i) const {
  return chunk.memory + kGuardBytes + (i + 1) * (bytes_ - kOffset);
}

void StackPool::guard_first(const Chunk& chunk) {
  std::memcpy(top(chunk, 0) - (bytes_ - kOffset), &kGuard, sizeof kGuard);
}

void StackPool::add_chunk() {
  void* const mapping =
      mmap(nullptr, kMappingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(mapping);
  // Always past the start, so that there is closed room on either side of the stacks.
  char* const memory = reinterpret_cast<char*>(((start + kClosedBytes) / kHugePage + 1) * kHugePage);
  char* const past = memory + kChunkBytes;
  mprotect(mapping, std::size_t(memory - static_cast<char*>(mapping)), PROT_NONE);
  mprotect(past, std::size_t(static_cast<char*>(mapping) + kMappingBytes - past), PROT_NONE);
  // Huge pages for the stacks of one block spare the switch a TLB miss. The many stacks of a resident launch use their
  // first page only and stay small.
  madvise(memory, kChunkBytes, chunks_.size() < kKeptChunks ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const std::size_t stride = bytes_ - kOffset;
  chunks_.push_back({mapping, memory, (kChunkBytes - 2 * kGuardBytes) / stride});
  guard_first(chunks_.back());
  carved_ = 0;
}

char* StackPool::take() {
  if (!free_.empty()) {
    char* const stack = free_.back();
    free_.pop_back();
    return stack;
  }
  if (chunks_.empty() || carved_ == chunks_.back().stacks) add_chunk();
  char* const stack = top(chunks_.back(), carved_++);
  std::memcpy(stack, &kGuard, sizeof kGuard);
  return stack;
}

std::size_t StackPool::used(const void* address) const {
  const char* const place = static_cast<const char*>(address);
  for (const Chunk& chunk : chunks_) {
    const char* const first = top(chunk, 0);
    if (place < chunk.memory || place >= chunk.memory + kChunkBytes) continue;
    const std::size_t stride = bytes_ - kOffset;
    const std::size_t i = place < first ? 0 : (std::size_t(place - first) / stride + 1);
    return std::size_t(top(chunk, i) - place);
  }
  return 0;
}

bool StackPool::has_overflowed(const void* fault) const {
  const char* const place = static_cast<const char*>(fault);
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    const Chunk& chunk = chunks_[c];
    if (place >= chunk.mapping && place < chunk.memory) return true;
    const std::size_t used = c + 1 == chunks_.size() ? carved_ : chunk.stacks;
    for (std::size_t i = 0; i < used; ++i)
      if (!is_intact(top(chunk, i))) return true;
  }
  return false;
}

void StackPool::take_back_all() {
  free_.clear();
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    guard_first(chunks_[c]);  // whoever ran over an end may have written where the guard was
    const std::size_t used = c + 1 == chunks_.size() ? carved_ : chunks_[c].stacks;
    for (std::size_t i = used; i-- > 0;) {
      char* const stack = top(chunks_[c], i);
      std::memcpy(stack, &kGuard, sizeof kGuard);
      free_.push_back(stack);
    }
  }
}

void StackPool::trim() {
  if (chunks_.size() <= kKeptChunks) return;
  while (chunks_.size() > kKeptChunks) {
    munmap(chunks_.back().mapping, kMappingBytes);
    chunks_.pop_back();
  }
  carved_ = chunks_.back().stacks;
  take_back_all();
}

}  // namespace gpuport::simt
