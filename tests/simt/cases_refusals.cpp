// What the machine must refuse, and that the next good launch works.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "cases.h"

namespace {

__device__ unsigned long long full_mask() { return ~0ull >> (64 - warpSize); }

__global__ void good(int* out) {
  __syncthreads();
  out[threadIdx.x] = int(__shfl_sync(full_mask(), threadIdx.x, 0));
}

// Reports the error of the launch before, and whether a good one works after it.
void report_and_go_on() {
  report_error();
  int out[64] = {};
  GPUPORT_SIMT_LAUNCH((good), 1, 64)(out);
  const int error = cudaGetLastError();
  std::printf("then %d %d detail '%s'\n", error, out[63], gpuport_simt_last_error_detail());
}

#define REFUSED(name, grid, block, ...)                                 \
  CASE(name) {                                                          \
    GPUPORT_SIMT_LAUNCH((name##_kernel), grid, block, ##__VA_ARGS__)(); \
    report_and_go_on();                                                 \
  }

__global__ void barrier_exited_kernel() {
  if (threadIdx.x < 40) __syncthreads();
}
REFUSED(barrier_exited, 2, 64)

__global__ void barrier_after_exit_kernel() {
  if (threadIdx.x == 0) return;
  __syncthreads();
}
REFUSED(barrier_after_exit, 1, 64)

__global__ void barrier_elsewhere_kernel() {
  if (threadIdx.x == 5)
    __syncwarp();
  else
    __syncthreads();
}
REFUSED(barrier_elsewhere, 1, 64)

__global__ void barrier_two_places_kernel() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}
REFUSED(barrier_two_places, 1, 64)

__global__ void shuffle_exited_kernel() {
  if (threadIdx.x != 3) __shfl_sync(full_mask(), 1, 0);
}
REFUSED(shuffle_exited, 1, 64)

__global__ void group_exited_kernel() {
  if (threadIdx.x < 3) __shfl_sync(0xff, 1, 0);
}
REFUSED(group_exited, 1, 64)

__global__ void source_absent_kernel() {
  if (threadIdx.x < 8) __shfl_down_sync(0xff, 1, 4);
}
REFUSED(source_absent, 1, 64)

__global__ void source_not_in_block_kernel() { __shfl_down_sync(0xffff, 1, 4); }
REFUSED(source_not_in_block, 1, 16)

__global__ void not_in_mask_kernel() {
  if (threadIdx.x == 9) __ballot_sync(0xff, 1);
}
REFUSED(not_in_mask, 1, 64)

__global__ void mask_of_all_ones_kernel() { __any_sync(~0ull, 1); }
REFUSED(mask_of_all_ones, 1, 64)

__global__ void mask_past_block_kernel() { __syncwarp(0xffffffff); }
REFUSED(mask_past_block, 1, 20)

__global__ void width_odd_kernel() { __shfl_xor_sync(full_mask(), 1, 1, 7); }
REFUSED(width_odd, 1, 64)

__global__ void width_large_kernel() { __shfl_up_sync(full_mask(), 1, 1, 2 * warpSize); }
REFUSED(width_large, 1, 64)

__global__ void mismatch_kernel() {
  if (threadIdx.x % 2 == 0)
    __shfl_sync(full_mask(), 1, 0);
  else
    __ballot_sync(full_mask(), 1);
}
REFUSED(mismatch, 1, 64)

// Even lanes of the mask do one thing, odd ones another: under the whole warp's mask and under a part of it.
template <typename Even, typename Odd>
__global__ void two_operations(unsigned long long mask, Even even, Odd odd) {
  if ((mask >> threadIdx.x & 1) == 0) return;
  if (threadIdx.x % 2 == 0)
    even(mask);
  else
    odd(mask);
}
#define MEETING(name, even, odd)                                                                       \
  CASE(name) {                                                                                         \
    for (const unsigned long long mask : {~0ull >> (64 - device_warp_size()), 0xffull}) {              \
      GPUPORT_SIMT_LAUNCH((two_operations), 1, device_warp_size())                                     \
      (mask, [](unsigned long long mask) { (void)even; }, [](unsigned long long mask) { (void)odd; }); \
      report_error();                                                                                  \
    }                                                                                                  \
  }
MEETING(meet_xor_down, __shfl_xor_sync(mask, 1, 1), __shfl_down_sync(mask, 1, 0))
MEETING(meet_idx_up, __shfl_sync(mask, 1, 1), __shfl_up_sync(mask, 1, 0))
MEETING(meet_any_ballot, __any_sync(mask, 1), __ballot_sync(mask, 1))
MEETING(meet_all_any, __all_sync(mask, 1), __any_sync(mask, 1))
MEETING(meet_add_max, __reduce_add_sync(mask, 1), __reduce_max_sync(mask, 1))
MEETING(meet_and_xor, __reduce_and_sync(mask, 1u), __reduce_xor_sync(mask, 1u))
MEETING(meet_min_or, __reduce_min_sync(mask, 1u), __reduce_or_sync(mask, 1u))
int unused_answer;
MEETING(meet_match, __match_any_sync(mask, 1), __match_all_sync(mask, 1, &unused_answer))
MEETING(meet_sizes, __shfl_sync(mask, 1, 1), __shfl_sync(mask, 1.0, 1))
MEETING(meet_match_sizes, __match_any_sync(mask, 1), __match_any_sync(mask, 1ull))
MEETING(meet_sync_vote, __ballot_sync(mask, 1), __syncwarp(mask))
MEETING(meet_same, __shfl_xor_sync(mask, 1, 1), __shfl_xor_sync(mask, 1u, 1))

__global__ void mismatch_masks_kernel() {
  if (threadIdx.x < 2) __shfl_sync(threadIdx.x == 0 ? 0x3 : 0x7, 1, 0);
}
REFUSED(mismatch_masks, 1, 64)

__global__ void nothing(char*) {}
#define BAD_CONFIGURATION(name, ...)                \
  CASE(name) {                                      \
    GPUPORT_SIMT_LAUNCH((nothing), __VA_ARGS__)(0); \
    report_and_go_on();                             \
  }
BAD_CONFIGURATION(block_large, 1, dim3(32, 33))
BAD_CONFIGURATION(block_deep, 1, dim3(1, 1, 65))
BAD_CONFIGURATION(block_empty, 1, 0)
BAD_CONFIGURATION(grid_empty, dim3(1, 0), 1)
BAD_CONFIGURATION(grid_large, dim3(1, 65536), 1)
BAD_CONFIGURATION(shared_large, 1, 1, 48 * 1024 + 1)

template <int kBytes>
__global__ void takes_shared() {
  GPUPORT_SIMT_SHARED(room, char[kBytes]);
  room[0] = 1;
}
CASE(shared_static_large) {
  GPUPORT_SIMT_LAUNCH((takes_shared<40 * 1024>), 1, 1, 9 * 1024)();
  report_and_go_on();
}
CASE(shared_opt_in) {
  std::printf("%d ", cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  GPUPORT_SIMT_LAUNCH((nothing), 1, 1, 227 * 1024)(0);
  std::printf("%d ", cudaGetLastError());
  GPUPORT_SIMT_LAUNCH((nothing), 1, 1, 227 * 1024 + 1)(0);
  std::printf("%d ", cudaGetLastError());
  std::printf("%d\n", cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1));
}

__global__ void throwing() {
  if (threadIdx.x == 7) throw std::runtime_error("told");
  __syncthreads();
}
CASE(exception) {
  GPUPORT_SIMT_LAUNCH((throwing), 1, 64)();
  report_and_go_on();
}

__global__ void trapping() {
  if (threadIdx.x == 33) __trap();
}
CASE(trap) {
  GPUPORT_SIMT_LAUNCH((trapping), 1, 64)();
  report_and_go_on();
}

__global__ void launching() { GPUPORT_SIMT_LAUNCH((nothing), 1, 1)(0); }
CASE(nested_launch) {
  GPUPORT_SIMT_LAUNCH((launching), 1, 1)();
  report_and_go_on();
}

__attribute__((noinline)) int deep(volatile char* above, int levels) {
  volatile char frame[1024];
  for (volatile char& c : frame) c = *above;
  return levels == 0 ? frame[7] : deep(frame, levels - 1) + frame[3];
}
__global__ void overflowing(int* out) {
  volatile char c = 1;
  __syncthreads();  // each thread has its own stack from here on
  if (threadIdx.x == 3) *out = deep(&c, 31);
}
CASE(stack_overflow) {
  int out = 0;
  GPUPORT_SIMT_LAUNCH((overflowing), 1, 8)(&out);
  report_error();
}

// The mappings before and after the one that the stack of a waiting thread lies in.
__global__ void finds_guards(int* guards) {
  volatile char local = 0;
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  unsigned long begin = 0, end = 0, guard_end = 0, stacks_end = 0;
  char access[8], line[512];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    const int fields = std::sscanf(line, "%lx-%lx %7s", &begin, &end, access);
    if (fields < 3) continue;
    const bool closed = std::string(access) == "---p";
    const auto place = reinterpret_cast<unsigned long>(&local);
    if (begin <= place && place < end) {
      guards[0] = guard_end == begin;
      stacks_end = end;
    }
    if (closed) guard_end = end;
    if (closed && begin == stacks_end) guards[1] = 1;
  }
  if (maps != nullptr) std::fclose(maps);
}
CASE(stack_guards) {
  int guards[2] = {};
  GPUPORT_SIMT_LAUNCH((finds_guards), 1, 2)(guards);
  print_ints({cudaGetLastError(), guards[0], guards[1]});
}

CASE(failures_do_not_leak) {  // contexts, stacks, blocks of failed launches come back
  for (int i = 0; i < 50; ++i) GPUPORT_SIMT_LAUNCH((barrier_exited_kernel), 4, 1024)();
  const long before = resident_kib();
  for (int i = 0; i < 500; ++i) GPUPORT_SIMT_LAUNCH((barrier_exited_kernel), 4, 1024)();
  std::printf("%d grown_mib %ld\n", cudaGetLastError(), (resident_kib() - before) / 1024);
}

CASE(not_sticky) {
  GPUPORT_SIMT_LAUNCH((trapping), 1, 64)();
  std::printf("%d ", cudaPeekAtLastError());
  std::printf("%d ", cudaGetLastError());
  std::printf("%d\n", cudaGetLastError());
}

// What each call says while a failed kernel's error is unread. (Braces: the calls have to come in this order.)
CASE(failure_reaches_the_next_call) {
  int* memory = nullptr;
  int value = 7;
  cudaEvent_t event = nullptr;
  cudaMalloc(&memory, sizeof value);
  cudaMemset(memory, 0, sizeof value);
  cudaEventCreate(&event);
  GPUPORT_SIMT_LAUNCH((trapping), 1, 64)();
  cudaEventRecord(event);
  print_ints({cudaDeviceSynchronize(), cudaStreamSynchronize(nullptr), cudaStreamQuery(nullptr),
              cudaEventSynchronize(event), cudaEventQuery(event)});
  print_ints({cudaMemcpy(memory, &value, 4, cudaMemcpyHostToDevice),
              cudaMemcpyAsync(memory, &value, 4, cudaMemcpyDefault),
              cudaMemcpy2D(memory, 4, &value, 4, 4, 1, cudaMemcpyDefault), cudaMemcpyPeer(memory, 0, &value, 0, 4),
              cudaMemcpyToSymbol(value, &value, 4), cudaMemset(memory, 1, 4), cudaMemsetAsync(memory, 1, 4)});
  // A good launch and a bad configuration in between hide nothing, its words included.
  GPUPORT_SIMT_LAUNCH((nothing), 1, 1)(nullptr);
  GPUPORT_SIMT_LAUNCH((nothing), 1, 0)(nullptr);
  const cudaError_t unread = cudaDeviceSynchronize();
  const bool told = std::string(cudaGetErrorString(unread)).find("__trap()") != std::string::npos;
  print_ints({unread, told, cudaPeekAtLastError(), cudaDeviceSynchronize()});
  int* more = nullptr;
  print_ints({cudaMalloc(&more, 4), more != nullptr, cudaFree(more)});
  print_ints({*memory, cudaGetLastError(), cudaGetLastError(), cudaDeviceSynchronize(), cudaEventSynchronize(event)});
  print_ints({cudaMemcpy(memory, &value, 4, cudaMemcpyHostToDevice), *memory, cudaFree(memory)});
  cudaEventDestroy(event);
}
CASE(configuration_reaches_no_other_call) {
  GPUPORT_SIMT_LAUNCH((nothing), 1, 0)(nullptr);
  int value = 0;
  print_ints({cudaDeviceSynchronize(), cudaMemset(&value, 0, 4), cudaGetLastError(), cudaGetLastError()});
}
CASE(reset_ends_a_failure) {
  GPUPORT_SIMT_LAUNCH((trapping), 1, 64)();
  print_ints({cudaDeviceSynchronize(), cudaDeviceReset(), cudaDeviceSynchronize(), cudaGetLastError()});
}

CASE(one_launch) {
  int out[64] = {};
  GPUPORT_SIMT_LAUNCH((good), 1, 64)(out);
  report_error();
  print_ints({out[0], out[63]});
}

CASE(runtime_errors) {
  void* memory = nullptr;
  int value = 0;
  std::printf("%s ", cudaGetErrorName(cudaSetDevice(2)));
  std::printf("%s ", cudaGetErrorName(cudaMalloc(&memory, ~std::size_t(0))));
  std::printf("%s ", cudaGetErrorName(cudaFree(&value)));
  std::printf("%s ", cudaGetErrorName(cudaLaunchKernel(reinterpret_cast<const void*>(trapping), 1, 1, nullptr)));
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}

}  // namespace
