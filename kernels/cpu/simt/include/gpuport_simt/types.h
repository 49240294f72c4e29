// CUDA's qualifiers, vector types and built-in variables, as a host compiler understands them.
#pragma once

#include <cstddef>
#include <cstdint>

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __forceinline__ inline __attribute__((always_inline))
// Empty, not an attribute: libstdc++ writes __attribute__((__noinline__)), which has to stay well-formed.
#define __noinline__
#if !defined(__align__)
#define __align__(bytes) __attribute__((aligned(bytes)))
#endif

// `shared` of __shared__ is the translator's: a declaration that reaches the compiler was missed, and must not compile.
#define __shared__ _Pragma("GCC error \"__shared__ reached the host compiler: translate this file for the CPU first\"")

#define GPUPORT_SIMT_VECTOR(type, name)                                                       \
  struct name##1 { type x; };                                                                 \
  struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                    \
  struct name##3 { type x, y, z; };                                                           \
  struct alignas(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 { type x, y, z, w; }; \
  constexpr name##1 make_##name##1(type x) { return {x}; }                                    \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }                         \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }              \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

GPUPORT_SIMT_VECTOR(signed char, char)
GPUPORT_SIMT_VECTOR(unsigned char, uchar)
GPUPORT_SIMT_VECTOR(short, short)
GPUPORT_SIMT_VECTOR(unsigned short, ushort)
GPUPORT_SIMT_VECTOR(int, int)
GPUPORT_SIMT_VECTOR(unsigned int, uint)
GPUPORT_SIMT_VECTOR(long, long)
GPUPORT_SIMT_VECTOR(unsigned long, ulong)
GPUPORT_SIMT_VECTOR(long long, longlong)
GPUPORT_SIMT_VECTOR(unsigned long long, ulonglong)
GPUPORT_SIMT_VECTOR(float, float)
GPUPORT_SIMT_VECTOR(double, double)
#undef GPUPORT_SIMT_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

// The runtime is a part of the binary that uses it, and hidden: two modules in one process, each with its own runtime,
// must not find each other's variables. Or it is a library that modules of one process share, and they must.
#if defined(GPUPORT_SIMT_LIBRARY)
#define GPUPORT_SIMT_RUNTIME __attribute__((visibility("default")))
// initial-exec makes an access one instruction, also in a shared library that is loaded late. It takes from a small
// part of every thread's memory that the loader sets aside once: there is one such library in a process.
#define GPUPORT_SIMT_STATE __attribute__((tls_model("initial-exec"))) GPUPORT_SIMT_RUNTIME
#else
#define GPUPORT_SIMT_RUNTIME __attribute__((visibility("hidden")))
#define GPUPORT_SIMT_STATE GPUPORT_SIMT_RUNTIME
#endif
// What has CUDA's name in the source has one of its own in a symbol table: a process may also hold NVIDIA's runtime.
#define GPUPORT_SIMT_SYMBOL(name) __asm__("gpuport_simt_" #name)

// Real variables and no macros: host code has locals called `blockDim` and structs with a member `warpSize`.
extern __thread uint3 threadIdx GPUPORT_SIMT_SYMBOL(threadIdx) GPUPORT_SIMT_STATE;
extern __thread uint3 blockIdx GPUPORT_SIMT_SYMBOL(blockIdx) GPUPORT_SIMT_STATE;
extern __thread dim3 blockDim GPUPORT_SIMT_SYMBOL(blockDim) GPUPORT_SIMT_STATE;
extern __thread dim3 gridDim GPUPORT_SIMT_SYMBOL(gridDim) GPUPORT_SIMT_STATE;
extern __thread int warpSize GPUPORT_SIMT_SYMBOL(warpSize) GPUPORT_SIMT_STATE;
