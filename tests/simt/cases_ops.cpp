// Warp and block operations, launches, atomics: what they compute.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <numeric>
#include <vector>

#include "cases.h"

namespace {

constexpr unsigned long long kAll = ~0ull;
__device__ unsigned long long full_mask() { return kAll >> (64 - warpSize); }

struct Pair {
  float value;
  int index;
};
struct Wide {
  double a;
  long long b;
};

template <typename T>
__global__ void xor_exchange(T* data) {
  data[threadIdx.x] = __shfl_xor_sync(full_mask(), data[threadIdx.x], 1);
}

template <typename T, typename Make>
bool exchanges(Make make) {
  std::vector<T> data(128);
  for (int i = 0; i < 128; ++i) data[i] = make(i);
  GPUPORT_SIMT_LAUNCH((xor_exchange<T>), 1, 128)(data.data());
  for (int i = 0; i < 128; ++i) {
    const T want = make(i ^ 1);
    if (__builtin_memcmp(&data[i], &want, sizeof(T)) != 0) return false;
  }
  return cudaGetLastError() == cudaSuccess;
}

CASE(shuffle_types) {
  std::printf("%d", exchanges<signed char>([](int i) { return static_cast<signed char>(i - 60); }));
  std::printf("%d", exchanges<short>([](int i) { return short(i * 250); }));
  std::printf("%d", exchanges<int>([](int i) { return i * -7; }));
  std::printf("%d", exchanges<unsigned>([](int i) { return 0xf0000000u + unsigned(i); }));
  std::printf("%d", exchanges<long long>([](int i) { return (long long)(i) << 40; }));
  std::printf("%d", exchanges<float>([](int i) { return float(i) / 3; }));
  std::printf("%d", exchanges<double>([](int i) { return double(i) / 3; }));
  std::printf("%d", exchanges<Pair>([](int i) { return Pair{float(i), -i}; }));
  std::printf("%d", exchanges<float3>([](int i) { return float3{float(i), 1, 2}; }));
  std::printf("%d\n", exchanges<Wide>([](int i) { return Wide{i * 0.5, i}; }));
}

__global__ void shuffles(int* out) {
  const int lane = int(threadIdx.x), n = int(blockDim.x);
  out[lane] = __shfl_sync(full_mask(), lane * 10, 5);
  out[n + lane] = __shfl_up_sync(full_mask(), lane, 3);
  out[2 * n + lane] = __shfl_down_sync(full_mask(), lane, 3);
  out[3 * n + lane] = __shfl_sync(full_mask(), lane, 9, 8);  // modulo the width, within the segment
  out[4 * n + lane] = __shfl_up_sync(full_mask(), lane, 3, 8);
  out[5 * n + lane] = __shfl_down_sync(full_mask(), lane, 3, 8);
  out[6 * n + lane] = __shfl_xor_sync(full_mask(), lane, 12, 8);
}

CASE(shuffle_sources) {
  std::vector<int> out(7 * 64, -1);
  const int n = device_warp_size();
  GPUPORT_SIMT_LAUNCH((shuffles), 1, n)(out.data());
  for (int row = 0; row < 7; ++row) {
    for (int i = 0; i < n; ++i) std::printf("%d ", out[row * n + i]);
    std::printf("\n");
  }
}

__global__ void partial(int* out) {
  const unsigned lane = threadIdx.x % unsigned(warpSize);
  const unsigned long long half = kAll >> (64 - warpSize / 2);
  const unsigned long long mask = lane < unsigned(warpSize) / 2 ? half : half << (warpSize / 2);
  int v = int(threadIdx.x);
  // The halves go their own ways for different numbers of steps.
  const int rounds = lane < unsigned(warpSize) / 2 ? 3 : 5;
  for (int i = 0; i < rounds; ++i) v += __shfl_xor_sync(mask, v, 1);
  if (lane % 2 == 0) v += int(__popcll(__ballot_sync(full_mask() & 0x5555555555555555ull, lane > 3)));
  out[threadIdx.x] = v;
}

CASE(partial_masks) {
  std::vector<int> out(64);
  GPUPORT_SIMT_LAUNCH((partial), 1, 64)(out.data());
  print_ints(out);
}

__global__ void votes(unsigned long long* out) {
  const int lane = int(threadIdx.x);
  const unsigned long long full = full_mask();
  unsigned long long* row = out + lane * 8;
  row[0] = __ballot_sync(full, lane % 3 == 0);
  row[1] = unsigned(__any_sync(full, lane == 7));
  row[2] = unsigned(__all_sync(full, lane < 100));
  row[3] = unsigned(__all_sync(full, lane != 7));
  row[4] = __reduce_add_sync(full, unsigned(lane));
  row[5] = __reduce_max_sync(full, lane ^ 5);
  row[6] = __match_any_sync(full, lane % 4);
  int equal = -1;
  row[7] = __match_all_sync(full, 42, &equal) == full && equal == 1;
}

CASE(votes) {
  const int n = device_warp_size();
  std::vector<unsigned long long> out(64 * 8);
  GPUPORT_SIMT_LAUNCH((votes), 1, n)(out.data());
  for (int lane : {0, n - 1}) {
    for (int i = 0; i < 8; ++i) std::printf("%llx ", out[lane * 8 + i]);
    std::printf("\n");
  }
}

__global__ void converged(unsigned long long* out) {
  if (threadIdx.x % 2 == 0) {
    const unsigned long long active = __activemask();
    out[threadIdx.x] = active;
    out[threadIdx.x] += __shfl_sync(active, threadIdx.x, 2) == 2 ? 0 : 1;
  } else {
    out[threadIdx.x] = __activemask();
  }
}

CASE(activemask) {
  std::vector<unsigned long long> out(64);
  const int n = device_warp_size();
  GPUPORT_SIMT_LAUNCH((converged), 1, n)(out.data());
  std::printf("%llx %llx %llx\n", out[0], out[1], out[n - 2]);
}

__global__ void block_votes(int* out) {
  const int t = int(threadIdx.x);
  int sum = __syncthreads_count(t % 5 == 0);
  sum = sum * 10 + __syncthreads_or(t == 99);
  sum = sum * 10 + __syncthreads_and(t < 1000);
  sum = sum * 10 + __syncthreads_and(t != 3);
  out[t] = sum;
}

CASE(block_votes) {
  std::vector<int> out(100);
  GPUPORT_SIMT_LAUNCH((block_votes), 1, 100)(out.data());
  std::printf("%d %d %d\n", out[0], out[50], out[99]);
}

template <typename T, int kSlots>
__global__ void tree_sum(const T* x, T* out, int n) {
  GPUPORT_SIMT_SHARED(parts, T[kSlots]);
  GPUPORT_SIMT_DYNAMIC_SHARED(all, T);
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  all[t] = int(i) < n ? x[i] : T(0);
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) all[t] += all[t + half];
    __syncthreads();
  }
  if (t < kSlots) parts[t] = all[0];
  __syncthreads();
  if (t == 0) out[blockIdx.x] = parts[kSlots - 1];
}

CASE(shared_memory) {
  std::vector<int> x(1000), out(4);
  std::iota(x.begin(), x.end(), 1);
  GPUPORT_SIMT_LAUNCH((tree_sum<int, 3>), dim3(4), dim3(256), 256 * sizeof(int))(x.data(), out.data(), 1000);
  print_ints(out);
}

__global__ void poison(unsigned* out) {
  GPUPORT_SIMT_SHARED(fixed, unsigned[2]);
  GPUPORT_SIMT_DYNAMIC_SHARED(dynamic, unsigned);
  GPUPORT_SIMT_SHARED_ALIGNED(128, aligned, char[3]);
  const float number = __uint_as_float(fixed[0]);
  out[0] = fixed[1];
  out[1] = dynamic[3];
  out[2] = number != number;
  out[3] = reinterpret_cast<std::uintptr_t>(&aligned) % 128 == 0;
  fixed[1] = dynamic[3] = 1;  // the next block must not see it
}

CASE(poison) {
  std::vector<unsigned> out(4);
  GPUPORT_SIMT_LAUNCH((poison), 3, 1, 16)(out.data());
  std::printf("%x %x %u %u\n", out[0], out[1], out[2], out[3]);
}

__global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  atomicAdd(i, 1);
  atomicSub(i + 1, 2);
  atomicMax(i + 2, int(threadIdx.x));
  atomicMin(i + 3, -int(threadIdx.x));
  atomicInc(u, 9);
  atomicOr(u + 1, 1u << threadIdx.x % 8);
  atomicAdd(l, 1ull << 33);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  int old = i[4];
  for (int assumed = ~old; assumed != old;) {
    assumed = old;
    old = atomicCAS(i + 4, assumed, assumed + 3);
  }
}

CASE(atomics) {
  int i[5] = {};
  unsigned u[2] = {};
  unsigned long long l = 0;
  float f = 0;
  double d = 0;
  GPUPORT_SIMT_LAUNCH((atomics), 40, 256)(i, u, &l, &f, &d);
  std::printf("%d %d %d %d %d %u %u %llx %g %g\n", i[0], i[1], i[2], i[3], i[4], u[0], u[1], l, f, d);
}

// Launch forms.
__global__ void plain(int* p, float f, int* out) { *out += (p == nullptr) * 100 + int(f); }
template <typename T>
__global__ void deduced(T value, int* out) {
  *out += int(sizeof(T)) + int(value);
}
__global__ void overloaded(int, int* out) { *out += 1; }
__global__ void overloaded(double, int* out) { *out += 2; }
struct Triple {
  int a, b, c;
};
__global__ void structure(Triple t, int* out) { *out += t.a + t.b + t.c; }
__global__ void own_copy(int counter, int* out) {
  ++counter;  // each thread's own
  atomicAdd(out, counter);
}
template <typename T>
struct Host {
  template <int kN>
  static __global__ void nested(T* p) {
    *p += T(kN);
  }
  template <int kN>
  void go(T* p) {
    GPUPORT_SIMT_LAUNCH((nested<kN>), 1, 1)(p);
  }
};
template <typename... P>
void through_pointer(void (*kernel)(P...), P... arguments) {
  GPUPORT_SIMT_LAUNCH((kernel), dim3(1), dim3(1), 0, nullptr)(arguments...);
}

CASE(launch_forms) {
  int out = 0, evaluated = 0;
  const auto once = [&] { return ++evaluated; };
  const auto report = [&] { std::printf("%d ", out), out = 0; };
  GPUPORT_SIMT_LAUNCH((plain), 1, 1)(0, 2, &out), report();
  GPUPORT_SIMT_LAUNCH((plain), 1, 1, 0)(nullptr, once() * 2.5f, &out), report();
  GPUPORT_SIMT_LAUNCH((deduced), 1, 1)(2.0, &out), report();
  GPUPORT_SIMT_LAUNCH((deduced<char>), 1, 1)(1000 - 999, &out), report();
  GPUPORT_SIMT_LAUNCH((overloaded), 1, 1)(1.5, &out), report();
  GPUPORT_SIMT_LAUNCH((overloaded), 1, 1)(1, &out), report();
  GPUPORT_SIMT_LAUNCH((structure), 1, 1)({1, 2, 3}, &out), report();
  GPUPORT_SIMT_LAUNCH((own_copy), 2, 64)(once(), &out), report();
  Host<int>().go<7>(&out), report();
  through_pointer(plain, static_cast<int*>(nullptr), 3.f, &out), report();
  int* pointer = &out;
  Triple triple{4, 5, 6};
  void* arguments[] = {&triple, &pointer};
  std::printf("%d ", cudaLaunchKernel(structure, dim3(1), dim3(1), arguments, 0, nullptr)), report();
  std::printf("%d evaluated %d\n", cudaGetLastError(), evaluated);
}

__global__ void indices(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  __syncthreads();  // the values must also be right after a switch
  const unsigned again = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1 + int(again != thread);
}

CASE(indices) {
  std::vector<int> out(3 * 4 * 5 * 5 * 3 * 2);
  GPUPORT_SIMT_LAUNCH((indices), dim3(3, 4, 5), dim3(5, 3, 2))(out.data());
  int wrong = 0;
  for (int v : out) wrong += v != 1;
  std::printf("%d\n", wrong);
}

__global__ void asserting(int* p) { assert(p[threadIdx.x] == 0 && "told"); }

CASE(device_assert) {
  int values[40] = {};
  values[35] = 1;
  GPUPORT_SIMT_LAUNCH((asserting), 1, 40)(values);
  report_error();
}

__global__ void nothing() {}
CASE(million_blocks) {
  for (int i = 0; i < 3; ++i) GPUPORT_SIMT_LAUNCH((nothing), 1000000, 1)();
  const long before = resident_kib();
  for (int i = 0; i < 5; ++i) GPUPORT_SIMT_LAUNCH((nothing), 1000000, 1)();
  std::printf("%d grown_mib %ld\n", cudaGetLastError(), (resident_kib() - before) / 1024);
}

__global__ void waits(int* out) {
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, 1);
}
// 1024 contexts on each worker at a time, within 32 KiB each and what the worker itself needs. Stacks that did not come
// back before the launch ends would be 65536.
CASE(stack_memory) {
  const long before = resident_kib();
  int out = 0;
  for (int i = 0; i < 3; ++i) GPUPORT_SIMT_LAUNCH((waits), 64, 1024)(&out);
  // The peak: stacks are given back to the system when a launch ends.
  const long grown = peak_kib() - before, workers = device_processors();
  std::printf("%d %s\n", out, grown < workers * (32 + 4) * 1024 ? "bounded" : "too much");
}

__global__ void exponentials(float* out) {
  out[0] = __expf(1.0f) + exp2f(3.0f) + fmaxf(1.0f, 2.0f) + rsqrtf(4.0f);
  out[1] = float(min(3u, 5) + max(2.0f, 7.0f)) + float(__popc(255u) + __ffs(8) + __clz(1) + __popcll(~0ull));
  out[2] = float(__brev(1u) >> 31) + float(__float_as_uint(1.0f) >> 23);
}
CASE(intrinsics) {
  float out[3];
  GPUPORT_SIMT_LAUNCH((exponentials), 1, 1)(out);
  std::printf("%.6f %g %g\n", out[0], out[1], out[2]);
}

}  // namespace
