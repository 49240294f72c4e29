// Blocks that wait for each other, launches that cannot end, seeds, and the host's side of the runtime.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "cases.h"

namespace {

__device__ unsigned long long full_mask() { return ~0ull >> (64 - warpSize); }

__device__ int acquire(const int* address) { return __atomic_load_n(address, __ATOMIC_ACQUIRE); }
__device__ void release(int* address, int value) { __atomic_store_n(address, value, __ATOMIC_RELEASE); }
template <typename Ready>
__device__ void wait_until(Ready ready) {
  while (!ready()) gpuport::simt::yield();
}

// Each block waits for the block before it by ticket, adds its own number and passes the sum on.
__global__ void chain(int* sums, int* tickets) {
  GPUPORT_SIMT_SHARED(ticket, int);
  GPUPORT_SIMT_SHARED(before, int);
  if (threadIdx.x == 0) {
    ticket = atomicAdd(tickets, 1);
    wait_until([&] { return ticket == 0 || acquire(sums + ticket - 1) != 0; });
    before = ticket == 0 ? 0 : sums[ticket - 1];
  }
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) release(sums + ticket, before + ticket + 1);
}

CASE(lookback_chain) {
  std::vector<int> sums(200);
  int tickets = 0;
  GPUPORT_SIMT_LAUNCH((chain), 200, 64)(sums.data(), &tickets);
  std::printf("%d %d %d\n", cudaGetLastError(), sums[0], sums[199]);
}

// The other way round: block i waits for block i + 1.
__global__ void backwards(int* sums) {
  const unsigned i = blockIdx.x;
  if (threadIdx.x == 0) {
    wait_until([&] { return i + 1 == gridDim.x || acquire(sums + i + 1) != 0; });
    release(sums + i, 1 + (i + 1 == gridDim.x ? 0 : sums[i + 1]));
  }
  __syncthreads();
}

CASE(later_blocks_resident) {
  std::vector<int> sums(200);
  int* pointer = sums.data();
  void* arguments[] = {&pointer};
  std::printf("%d ", cudaLaunchCooperativeKernel(backwards, dim3(200), dim3(64), arguments, 0, nullptr));
  std::printf("%d\n", sums[0]);
}

CASE(later_blocks_ordinary) {
  std::vector<int> sums(200);
  GPUPORT_SIMT_LAUNCH((backwards), 200, 64)(sums.data());
  report_error();
}

__global__ void grid_rounds(int* arrived, int* values, int* wrong, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) values[blockIdx.x] = round + int(blockIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd(arrived, 1);
      wait_until([&] { return acquire(arrived) >= int(gridDim.x) * (2 * round + 1); });
    }
    __syncthreads();
    const unsigned other = (blockIdx.x + 77) % gridDim.x;
    if (values[other] != round + int(other)) atomicAdd(wrong, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd(arrived, 1);
      wait_until([&] { return acquire(arrived) >= int(gridDim.x) * (2 * round + 2); });
    }
    __syncthreads();
  }
}

CASE(grid_barrier) {
  int arrived = 0, wrong = 0, rounds = 10;
  std::vector<int> values(200, -1);
  int *a = &arrived, *v = values.data(), *w = &wrong;
  void* arguments[] = {&a, &v, &w, &rounds};
  const int error = cudaLaunchCooperativeKernel(grid_rounds, dim3(200), dim3(64), arguments, 0, nullptr);
  std::printf("%d %d %d\n", error, arrived, wrong);
}

__global__ void groups(const int* in, int* out, int* seen, int n) {
  namespace cg = cooperative_groups;
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  int v = 0;
  for (unsigned long long i = grid.thread_rank(); i < unsigned(n); i += grid.size()) v += in[i];
  for (unsigned d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
  if (tile.thread_rank() == 0) atomicAdd(out, v);
  cg::sync(grid);
  if (block.thread_rank() == 0) seen[grid.block_rank()] = *out;
}
CASE(cooperative_groups) {
  std::vector<int> in(5000), seen(200);
  std::iota(in.begin(), in.end(), 0);
  int out = 0, n = 5000;
  const int* i = in.data();
  int *o = &out, *s = seen.data();
  void* arguments[] = {&i, &o, &s, &n};
  std::printf("%d ", cudaLaunchCooperativeKernel(groups, dim3(200), dim3(96), arguments));
  std::printf("%d %d\n", out, int(std::count(seen.begin(), seen.end(), out)));
  GPUPORT_SIMT_LAUNCH((groups), 2, 96)(i, o, s, n);
  report_error();
}

// Threads of one block hand a token round through memory alone, no operation of the machine in between.
__global__ void token(int* turn, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const int mine = i * int(blockDim.x) + int(threadIdx.x);
    wait_until([&] { return acquire(turn) == mine; });
    release(turn, mine + 1);
  }
}
CASE(token_ring) {
  int turn = 0;
  GPUPORT_SIMT_LAUNCH((token), 1, 48)(&turn, 500);
  std::printf("%d %d\n", cudaGetLastError(), turn);
}

// A loop that nobody wrote for this machine: it spins on an atomic, and the holder of the lock waits for its warp.
__global__ void spin_lock(int* lock, int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *counter += 1;
  __threadfence();
  atomicExch(lock, 0);
  __syncthreads();
}
CASE(spin_lock) {
  int lock = 0, counter = 0;
  GPUPORT_SIMT_LAUNCH((spin_lock), 20, 96)(&lock, &counter);
  std::printf("%d %d\n", cudaGetLastError(), counter);
}

__global__ void stuck(int* flag) {
  if (threadIdx.x == 0 && blockIdx.x == 1) wait_until([&] { return acquire(flag) == 1; });
  __syncthreads();
}
CASE(deadlock) {
  int flag = 0;
  GPUPORT_SIMT_LAUNCH((stuck), 2, 40)(&flag);
  report_error();
}

__global__ void counting(int* flag, long long* turns) {
  while (acquire(flag) == 0) {
    ++*turns;
    gpuport::simt::yield();
  }
}
CASE(deadlock_counting) {
  int flag = 0;
  long long turns = 0;
  GPUPORT_SIMT_LAUNCH((counting), 1, 1)(&flag, &turns);
  std::printf("%d\n", cudaGetLastError());
}

CASE(resident_too_large) {
  int* pointer = nullptr;
  void* arguments[] = {&pointer};
  cudaLaunchCooperativeKernel(backwards, dim3(100000), dim3(64), arguments, 0, nullptr);
  report_error();
}

// Order. A block-wide rotation without its second barrier: right only if the lanes happen to run in a kind order.
__global__ void order(int* lanes, int* blocks, int* count) {
  const int at = atomicAdd(count, 1);
  if (threadIdx.x == 0) blocks[blockIdx.x] = at;
  if (blockIdx.x == 0) lanes[threadIdx.x] = at;
}
CASE(seeded_order) {
  for (const long long seed : {-1ll, 1ll, 2ll, 1ll}) {
    gpuport_simt_set_seed(seed);
    std::vector<int> lanes(64), blocks(8);
    int count = 0;
    GPUPORT_SIMT_LAUNCH((order), 8, 64)(lanes.data(), blocks.data(), &count);
    std::vector<int> order(lanes);
    std::sort(order.begin(), order.end());
    const bool natural_lanes = order == lanes, natural_blocks = std::is_sorted(blocks.begin(), blocks.end());
    unsigned hash = 0;
    for (int v : lanes) hash = hash * 31 + unsigned(v - lanes[0]);
    for (int v : blocks) hash = hash * 31 + unsigned(v / 64);
    std::printf("%d %d %d %u\n", count, natural_lanes, natural_blocks, hash);
  }
}

template <bool kBarrier>
__global__ void reuse(int* wrong) {
  GPUPORT_SIMT_SHARED(scratch, int[64]);
  const unsigned t = threadIdx.x;
  scratch[t] = int(t);
  __syncthreads();
  const int first = scratch[(t + 1) % 64];
  if constexpr (kBarrier) __syncthreads();  // before the scratch is reused
  scratch[t] = int(t) + 100;
  __syncthreads();
  if (first != int((t + 1) % 64)) atomicAdd(wrong, 1);
}
CASE(missing_barrier) {
  int with = 0, without = 0;
  for (int seed = -1; seed < 20; ++seed) {
    gpuport_simt_set_seed(seed);
    GPUPORT_SIMT_LAUNCH((reuse<true>), 4, 64)(&with);
    int wrong = 0;
    GPUPORT_SIMT_LAUNCH((reuse<false>), 4, 64)(&wrong);
    without += wrong > 0;
  }
  std::printf("%d %d\n", with, without);
}

__global__ void mixed(int* out) {
  GPUPORT_SIMT_SHARED(total, int);
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int v = int(threadIdx.x);
  for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down_sync(full_mask(), v, d);
  if (threadIdx.x % unsigned(warpSize) == 0) atomicAdd(&total, v);
  if (__syncthreads_count(1) == int(blockDim.x) && threadIdx.x == 0) out[blockIdx.x] = total;
}
CASE(seeds_agree) {
  int wrong = 0;
  for (int seed = -1; seed < 30; ++seed) {
    gpuport_simt_set_seed(seed);
    std::vector<int> out(37, -1);
    GPUPORT_SIMT_LAUNCH((mixed), 37, 192)(out.data());
    for (int v : out) wrong += v != 192 * 191 / 2;
  }
  std::printf("%d %d\n", wrong, cudaGetLastError());
}

CASE(seed_poison) {
  for (const long long seed : {2ll, 3ll}) {
    gpuport_simt_set_seed(seed);
    unsigned out = 0;
    GPUPORT_SIMT_LAUNCH(([](unsigned* p) {
                          GPUPORT_SIMT_SHARED(s, unsigned);
                          *p = s;
                        }),
                        1, 1)(&out);
    std::printf("%x ", out);
  }
  std::printf("\n");
}

CASE(fork) {
  std::vector<int> out(37);
  GPUPORT_SIMT_LAUNCH((mixed), 37, 192)(out.data());
  const pid_t child = fork();
  if (child == 0) {
    std::vector<int> mine(37);
    GPUPORT_SIMT_LAUNCH((mixed), 37, 192)(mine.data());
    _exit(cudaGetLastError() == cudaSuccess && mine == out ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  std::printf("%d %d\n", status, out[36]);
}

CASE(host_threads) {  // launches from several threads at once; device and error are each thread's own
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t] {
      cudaSetDevice(t % 2);
      for (int i = 0; i < 50; ++i) {
        std::vector<int> out(9, -1);
        GPUPORT_SIMT_LAUNCH((mixed), 9, 128)(out.data());
        for (int v : out) wrong[t] += v != 128 * 127 / 2;
        wrong[t] += cudaGetLastError() != cudaSuccess;
      }
    });
  for (std::thread& thread : threads) thread.join();
  print_ints(wrong);
}

__constant__ int table[4];
__device__ int counter = 5;
__global__ void uses_symbols(int* out) {
  *out = table[2] * 10 + counter;
  counter = 77;
}
CASE(runtime_calls) {
  const int values[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(table, values, sizeof values);
  int* device = nullptr;
  int host = 0, back = 0;
  cudaMalloc(&device, sizeof(int));
  GPUPORT_SIMT_LAUNCH((uses_symbols), 1, 1)(device);
  cudaMemcpy(&host, device, sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&back, counter, sizeof back);
  cudaPointerAttributes of_device, of_host;
  cudaPointerGetAttributes(&of_device, device);
  cudaPointerGetAttributes(&of_host, &host);
  cudaDeviceProp properties;
  int current = -1;
  cudaGetDevice(&current);
  cudaGetDeviceProperties(&properties, current);
  std::printf("%d %d | %d %d %d | %s, %d | ", host, back, of_device.type, of_device.device - current, of_host.type,
              properties.name, properties.warpSize);
  cudaStream_t stream;
  cudaEvent_t start, stop;
  float milliseconds = -1;
  cudaStreamCaptureStatus capture;
  cudaStreamCreate(&stream);
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start, stream);
  cudaMemsetAsync(device, 0xff, sizeof(int), stream);
  cudaEventRecord(stop, stream);
  cudaStreamIsCapturing(stream, &capture);
  std::printf("%d ", cudaEventElapsedTime(&milliseconds, start, stop));
  std::printf("%d %d ", milliseconds >= 0, capture);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  int blocks = 0, count = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, uses_symbols, 256, 0);
  cudaGetDeviceCount(&count);
  std::printf("%d ", *device);
  std::printf("%d %d %d %d\n", cudaStreamDestroy(stream), cudaFree(device), blocks, count);
}

}  // namespace
