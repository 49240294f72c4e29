// What the CPU backend's machine does in a second: shuffles, barriers, threads, blocks, launches.
// Prints one line a figure: name, value, unit. The best of several runs, because other work on the machine only ever
// slows.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

__global__ void shuffles(float* out, int rounds) {
  const unsigned long long all = ~0ull >> (64 - warpSize);
  float value = float(threadIdx.x);
  for (int i = 0; i < rounds; ++i) value += __shfl_xor_sync(all, value, 1 << (i & 3));
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void barriers(float* out, int rounds) {
  for (int i = 0; i < rounds; ++i) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = float(rounds);
}

// What a block reduction does: the value goes through shared memory between two barriers.
__global__ void exchanges(float* out, int rounds) {
  __shared__ float slots[256];
  float value = float(threadIdx.x);
  for (int i = 0; i < rounds; ++i) {
    slots[threadIdx.x] = value;
    __syncthreads();
    value += slots[threadIdx.x ^ 1];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void nothing(float* out) {
  if (out == nullptr) return;
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

struct Seconds {
  double wall, processor;  // the second summed over the cores
};

template <typename Work>
Seconds best_seconds(int repeats, Work work) {
  Seconds best{1e30, 1e30};
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t used = std::clock();
    work();
    const double processor = double(std::clock() - used) / CLOCKS_PER_SEC;
    best.processor = std::min(best.processor, processor);
    best.wall = std::min(best.wall, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
  }
  return best;
}

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 9;
  for (int device = 0; device < 2; ++device) {
    cudaSetDevice(device);
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, device);
    const int width = properties.warpSize, blocks = 16 * properties.multiProcessorCount, threads = 256, rounds = 1000;
    std::vector<float> out(std::size_t(blocks) * threads);
    float* const data = out.data();
    const double operations = double(blocks) * threads * rounds * 1e-6;
    const auto print = [&](const char* name, double millions, Seconds s) {
      std::printf("%d\t%s\t%.3f\t%.3f\n", width, name, millions / s.wall, millions / s.processor);
    };
    print("thread-shuffles", operations, best_seconds(repeats, [&] { shuffles<<<blocks, threads>>>(data, rounds); }));
    print("thread-barriers", operations, best_seconds(repeats, [&] { barriers<<<blocks, threads>>>(data, rounds); }));
    print("thread-barriers around shared memory", operations,
          best_seconds(repeats, [&] { exchanges<<<blocks, threads>>>(data, rounds / 2); }));
    print("threads that never wait", 20000 * threads * 1e-6,
          best_seconds(repeats, [&] { nothing<<<20000, threads>>>(nullptr); }));
    print("blocks of one thread", 1.0, best_seconds(repeats, [&] { nothing<<<1000000, 1>>>(nullptr); }));
    constexpr int kLaunches = 5000;
    print("launches of one block", kLaunches * 1e-6, best_seconds(repeats, [&] {
            for (int i = 0; i < kLaunches; ++i) nothing<<<1, 32>>>(nullptr);
          }));
    print("launches of four blocks", kLaunches * 1e-6, best_seconds(repeats, [&] {
            for (int i = 0; i < kLaunches; ++i) nothing<<<4, 256>>>(nullptr);
          }));
  }
  return 0;
}
