// Bit operations, reinterpretations, cached loads and stores.
#pragma once

#include <cstring>

#include "machine.h"

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(unsigned(v)); }
inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll((unsigned long long)(v)); }

inline unsigned __brev(unsigned v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(v);
}
inline unsigned long long __brevll(unsigned long long v) {
  return (unsigned long long)(__brev(unsigned(v))) << 32 | __brev(unsigned(v >> 32));
}

inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = (unsigned long long)(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> (4 * i) & 0xf;
    unsigned byte = unsigned(bytes >> (8 * (nibble & 7))) & 0xff;
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;  // the sign, spread over the byte
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)(high) << 32 | low) >> (shift & 31));
}

inline int __mulhi(int a, int b) { return int((long long)(a)*b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)(a)*b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)(a)*b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)(a)*b >> 64);
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline int __hadd(int a, int b) { return int(((long long)(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return int(((long long)(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)(a) + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)(a) + b + 1) >> 1); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
// A shift of 32 or more is one of 32.
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
// The bit that is the `n`-th set one from `base` on, upwards, or downwards for a negative `n`; -1 where there is none.
inline unsigned __fns(unsigned mask, unsigned base, int n) {
  if (n == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~0u;
  const int step = n > 0 ? 1 : -1;
  for (int bit = int(base); bit >= 0 && bit < 32; bit += step)
    if ((mask >> bit & 1) != 0 && (n -= step) == 0) return unsigned(bit);
  return ~0u;
}

inline unsigned __sad(int a, int b, unsigned c) { return c + unsigned(a < b ? (long long)(b)-a : (long long)(a)-b); }

namespace gpuport::simt {
template <typename To, typename From>
inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
}  // namespace gpuport::simt

inline int __float_as_int(float v) { return gpuport::simt::same_bits<int>(v); }
inline unsigned __float_as_uint(float v) { return gpuport::simt::same_bits<unsigned>(v); }
inline float __int_as_float(int v) { return gpuport::simt::same_bits<float>(v); }
inline float __uint_as_float(unsigned v) { return gpuport::simt::same_bits<float>(v); }
inline long long __double_as_longlong(double v) { return gpuport::simt::same_bits<long long>(v); }
inline double __longlong_as_double(long long v) { return gpuport::simt::same_bits<double>(v); }
inline int __double2hiint(double v) { return int(gpuport::simt::same_bits<unsigned long long>(v) >> 32); }
inline int __double2loint(double v) { return int(gpuport::simt::same_bits<unsigned long long>(v)); }
inline double __hiloint2double(int high, int low) {
  return gpuport::simt::same_bits<double>((unsigned long long)(unsigned(high)) << 32 | unsigned(low));
}

// A CPU's caches are coherent: the hints mean an ordinary access. `.cv` must go to memory each time.
#define GPUPORT_SIMT_LOAD(name)     \
  template <typename T>             \
  inline T name(const T* address) { \
    return *address;                \
  }
GPUPORT_SIMT_LOAD(__ldg)
GPUPORT_SIMT_LOAD(__ldca)
GPUPORT_SIMT_LOAD(__ldcg)
GPUPORT_SIMT_LOAD(__ldcs)
GPUPORT_SIMT_LOAD(__ldlu)
#undef GPUPORT_SIMT_LOAD
template <typename T>
inline T __ldcv(const T* address) {
  __asm__ volatile("" ::: "memory");
  return *address;
}
#define GPUPORT_SIMT_STORE(name)                                \
  template <typename T>                                         \
  inline void name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                           \
  }
GPUPORT_SIMT_STORE(__stwb)
GPUPORT_SIMT_STORE(__stcg)
GPUPORT_SIMT_STORE(__stcs)
GPUPORT_SIMT_STORE(__stwt)
#undef GPUPORT_SIMT_STORE

// Where an address lies, as far as this machine has different places: the calling thread's stack, its block's shared
// memory, and all else. Constant memory is global here, and a kernel's parameters are a copy that each thread has.
inline unsigned __isShared(const void* address) { return gpuport::simt::is_shared(address); }
inline unsigned __isLocal(const void* address) { return gpuport::simt::is_local(address); }
inline unsigned __isGlobal(const void* address) { return !__isShared(address) && !__isLocal(address); }
__attribute__((error("the CPU backend keeps constants in global memory: it cannot tell them apart"))) unsigned
__isConstant(const void* address);
__attribute__((
    error("the CPU backend gives each thread a copy of the parameters: none is shared by the grid"))) unsigned
__isGridConstant(const void* address);

inline std::size_t __cvta_generic_to_shared(const void* address) { return reinterpret_cast<std::size_t>(address); }
inline std::size_t __cvta_generic_to_global(const void* address) { return reinterpret_cast<std::size_t>(address); }
