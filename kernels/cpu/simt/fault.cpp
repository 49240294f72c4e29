// Signals that a kernel's thread raises: an access that the system refuses, which is also how a stack overflow ends, an
// integer division by zero, an instruction that is none. The launch fails with an error about the thread, and the
// process goes on.
//
// The handler runs on a stack of its own and does one thing: it sends the thread on to report_fault, on another stack
// and outside of any handler, where words can be made and the launch can be left. What the kernel held (a lock of the
// allocator, say) stays as it is, as after every failed launch.
#include "fault.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "gpuport_simt/errors.h"
#include "machine.h"

// A sanitizer has handlers of its own, which say more.
extern "C" void __asan_init() __attribute__((weak));
extern "C" void __tsan_init() __attribute__((weak));

namespace gpuport::simt {

namespace {

constexpr std::size_t kHandlerBytes = std::size_t(64) << 10, kReportBytes = std::size_t(256) << 10;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[sizeof kSignals / sizeof *kSignals];

struct Memory {
  char* start;
  std::size_t bytes;
  explicit Memory(std::size_t bytes)
      : start(static_cast<char*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        bytes(bytes) {
    if (start == MAP_FAILED) throw std::bad_alloc();
  }
  ~Memory() { munmap(start, bytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

// What an OS thread that runs kernels needs: a stack for the handler, unless it has one, and one for the report.
struct ThreadStacks {
  Memory handler{kHandlerBytes}, report{kReportBytes};
  bool own = false;
  ThreadStacks() {
    stack_t now;
    if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    stack_t given = {};
    given.ss_sp = handler.start;
    given.ss_size = handler.bytes;
    own = sigaltstack(&given, nullptr) == 0;
  }
  ~ThreadStacks() {
    if (!own) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
};
thread_local char* report_stack = nullptr;  // its top
thread_local int fault_signal = 0, fault_code = 0;
thread_local const void* fault_address = nullptr;

[[noreturn]] void report_fault() {
  const std::string thread = where(*current_warp, current_lane);
  if (fault_signal == SIGFPE)
    stop(cudaErrorLaunchFailure, "an integer division by zero, or of the least number by -1; " + thread);
  if (fault_signal == SIGILL)
    stop(cudaErrorIllegalInstruction,
         "an instruction that ends the thread: __builtin_trap(), or what the compiler puts where it sees undefined "
         "behavior; " +
             thread);
  if (current_worker->stacks->has_overflowed(fault_address)) refuse_overflow();
#if defined(SI_KERNEL)  // the processor refused before there was an address to tell
  if (fault_code == SI_KERNEL)
    stop(cudaErrorMisalignedAddress,
         "a vector access that is not aligned to its size, or an access of an address that no process has; " + thread);
#endif
  char address[32];
  std::snprintf(address, sizeof address, "%p", fault_address);
  stop(cudaErrorIllegalAddress, "an access of address " + std::string(fault_address ? address : "0") +
                                    ", which is not the process's; " + thread);
}

bool send_to_report(void* context) {
  // As after a call: 8 below a multiple of 16.
  auto* const stack = reinterpret_cast<std::uintptr_t*>(report_stack) - 1;
  *stack = 0;
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  machine.gregs[REG_RSP] = reinterpret_cast<greg_t>(stack);
  machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(&report_fault);
#elif defined(__aarch64__)
  machine.sp = reinterpret_cast<std::uintptr_t>(report_stack);
  machine.pc = reinterpret_cast<std::uintptr_t>(&report_fault);
#else
  (void)machine;
  return false;
#endif
  return true;
}

void handle(int signal, siginfo_t* info, void* context) {
  if (current_warp != nullptr && report_stack != nullptr) {
    fault_signal = signal;
    fault_code = info->si_code;
    fault_address = info->si_addr;
    if (send_to_report(context)) return;
  }
  for (std::size_t i = 0; i < sizeof kSignals / sizeof *kSignals; ++i) {
    if (kSignals[i] != signal) continue;
    const struct sigaction& before = previous[i];
    if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  }
  // The instruction runs again, and ends the process.
  ::signal(signal, SIG_DFL);
}

bool install() {
  if (&__asan_init != nullptr || &__tsan_init != nullptr) return false;
  for (std::size_t i = 0; i < sizeof kSignals / sizeof *kSignals; ++i) {
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, &previous[i]);
  }
  return true;
}

}  // namespace

void prepare_for_faults() {
  static const bool installed = install();
  if (!installed || report_stack != nullptr) return;
  thread_local ThreadStacks stacks;
  report_stack = stacks.report.start + stacks.report.bytes;
}

}  // namespace gpuport::simt
