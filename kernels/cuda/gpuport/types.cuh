// Element types, the same on every compiler: integers, f16, bf16, f32, f64, what each accumulates in, and matrix views.
//
// f16 and bf16 are plain 16-bit storage with explicit conversions. No vendor header agrees with the next on their
// names, operators or rounding, and the kernels only ever load, widen, narrow and store them. Narrowing rounds to
// nearest even.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(GP_TARGET_CUDA) + defined(GP_TARGET_AMD) + defined(GP_TARGET_CPU) != 1
#error "define exactly one of GP_TARGET_CUDA, GP_TARGET_AMD, GP_TARGET_CPU"
#endif

#define GP_HOST_DEVICE __host__ __device__ __forceinline__
#define GP_DEVICE __device__ __forceinline__
#define GP_KERNEL __global__ void

namespace gp {

using index_t = std::int64_t;

// Arithmetic of sizes. <algorithm> has the first two, and would cost each kernel file more time than they are worth.
constexpr index_t smaller(index_t a, index_t b) { return b < a ? b : a; }
constexpr index_t larger(index_t a, index_t b) { return a < b ? b : a; }
constexpr index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }

// The whole of To's bits from From's; std::bit_cast is not callable in device code on every compiler here.
template <typename To, typename From>
GP_HOST_DEVICE To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<From>);
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

namespace detail {

GP_HOST_DEVICE float widen_f16_bits(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);  // inf, NaN
  if (magnitude >= 0x0400u) return bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));         // normal
  const float tiny = float(magnitude) * 0x1p-24f;                                                     // subnormal, zero
  return bit_cast<float>(sign | bit_cast<std::uint32_t>(tiny));
}

GP_HOST_DEVICE std::uint16_t narrow_f16_bits(float value) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return std::uint16_t(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return std::uint16_t(sign | 0x7c00u);  // rounds past 65504: infinity
  if (magnitude < 0x38800000u) {                                       // below the least normal f16
    // Adding 0.5 leaves the value in units of 2^-24 in the low mantissa bits, rounded to nearest even by the addition.
    const float shifted = bit_cast<float>(magnitude) + 0.5f;
    return std::uint16_t(sign | (bit_cast<std::uint32_t>(shifted) - bit_cast<std::uint32_t>(0.5f)));
  }
  const std::uint32_t odd = magnitude >> 13 & 1u;
  return std::uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

GP_HOST_DEVICE float widen_f16(std::uint16_t half) {
#if defined(GP_TARGET_CUDA) && defined(__CUDA_ARCH__)
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(half));
  return wide;
#elif defined(GP_TARGET_AMD) && defined(__HIP_DEVICE_COMPILE__)
  return float(bit_cast<_Float16>(half));
#else
  return widen_f16_bits(half);
#endif
}

GP_HOST_DEVICE std::uint16_t narrow_f16(float value) {
#if defined(GP_TARGET_CUDA) && defined(__CUDA_ARCH__)
  std::uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#elif defined(GP_TARGET_AMD) && defined(__HIP_DEVICE_COMPILE__)
  return bit_cast<std::uint16_t>(_Float16(value));
#else
  return narrow_f16_bits(value);
#endif
}

GP_HOST_DEVICE std::uint16_t narrow_bf16(float value) {
#if defined(GP_TARGET_CUDA) && defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 800
  std::uint16_t half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#endif
#endif
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return std::uint16_t(bits >> 16 | 0x40u);  // keep NaN a NaN
  return std::uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace detail

struct float16 {
  std::uint16_t bits;
  float16() = default;
  GP_HOST_DEVICE explicit float16(float value) : bits(detail::narrow_f16(value)) {}
  GP_HOST_DEVICE operator float() const { return detail::widen_f16(bits); }
};

struct bfloat16 {
  std::uint16_t bits;
  bfloat16() = default;
  GP_HOST_DEVICE explicit bfloat16(float value) : bits(detail::narrow_bf16(value)) {}
  GP_HOST_DEVICE operator float() const { return bit_cast<float>(std::uint32_t(bits) << 16); }
};

// Two neighbours of 16 bits in a word, the first in its lower half: half the instructions of one after the other.
template <typename T>
struct Pair {
  static GP_DEVICE void widen(std::uint32_t word, float& first, float& second) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      first = bit_cast<float>(word << 16);
      second = bit_cast<float>(word & 0xffff0000u);
    } else {
      first = bit_cast<T>(std::uint16_t(word));
      second = bit_cast<T>(std::uint16_t(word >> 16));
    }
  }

#if defined(GP_TARGET_CUDA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static GP_DEVICE std::uint32_t narrow(float first, float second) {
    std::uint32_t word;
    if constexpr (std::is_same_v<T, bfloat16>) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    } else {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    }
    return word;
  }

  static constexpr bool kHasGreatest = true;
  // The greater of each two; a NaN only where both are one. Without an instruction for it, it is dearer than to widen.
  static GP_DEVICE std::uint32_t greatest(std::uint32_t a, std::uint32_t b) {
    std::uint32_t word;
    if constexpr (std::is_same_v<T, bfloat16>) {
      asm("max.bf16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
    } else {
      asm("max.f16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
    }
    return word;
  }
#else
  static GP_DEVICE std::uint32_t narrow(float first, float second) {
    return std::uint32_t(T(second).bits) << 16 | T(first).bits;
  }
  static constexpr bool kHasGreatest = false;
#endif
};

// A bool as other libraries store it: a byte, of which anything but zero is true. C++'s own may hold 0 or 1 only.
struct boolean {
  std::uint8_t byte;
  boolean() = default;
  GP_HOST_DEVICE explicit boolean(bool value) : byte(value ? 1 : 0) {}
  GP_HOST_DEVICE operator int() const { return byte != 0 ? 1 : 0; }
};

template <typename T>
inline constexpr bool kIsReducedFloat = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsReducedFloat<T>;

// What a T is summed in. Integers take 64 bits, whatever their width, so that a sum of 32-bit values cannot wrap early.
template <typename T>
using Accum = std::conditional_t<kIsReducedFloat<T>, float, std::conditional_t<kIsFloat<T>, T, std::int64_t>>;

template <typename T>
GP_HOST_DEVICE T infinity() {
  return bit_cast<T>(std::conditional_t < sizeof(T) == 8, std::uint64_t,
                     std::uint32_t > (sizeof(T) == 8 ? 0x7ff0000000000000ull : 0x7f800000ull));
}
template <typename T>
GP_HOST_DEVICE T quiet_nan() {
  return bit_cast<T>(std::conditional_t < sizeof(T) == 8, std::uint64_t,
                     std::uint32_t > (sizeof(T) == 8 ? 0x7ff8000000000000ull : 0x7fc00000ull));
}

// The greater of two, or NaN where either is one.
template <typename T>
GP_HOST_DEVICE T greatest(T a, T b) {
#if defined(GP_TARGET_CUDA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, float>) {  // one instruction in place of four
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
#endif
  // A NaN in `a` makes the comparison false and stays.
  return b > a || b != b ? b : a;
}

// 2^x by the GPU's own instruction, within 2^-22 of its value. A result that is subnormal may be 0 where `kFlush`
// allows it, which is half of the work.
template <bool kFlush>
GP_DEVICE float exp2_approximate(float x) {
#if defined(GP_TARGET_CUDA) && defined(__CUDA_ARCH__)
  float result;
  if constexpr (kFlush) {
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  } else {
    asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  }
  return result;
#else
  return exp2f(x);
#endif
}

// A kernel as the runtime's launch functions take it: untyped, but for the SIMT machine, which has to read the types of
// the parameters off the pointer.
template <typename Kernel>
auto launchable(Kernel* kernel) {
#if defined(GP_TARGET_CPU)
  return kernel;
#else
  return reinterpret_cast<const void*>(kernel);
#endif
}

template <int... kWidths>
struct WarpWidths {};

// The widths that a binary of this target carries code for.
#if defined(GP_TARGET_CUDA)
using TargetWarpWidths = WarpWidths<32>;
#else
using TargetWarpWidths = WarpWidths<32, 64>;
#endif

// For launch policies, which are data: what suits one kind of device seldom suits another.
enum class Target : std::uint8_t { kCuda, kAmd, kCpu };
#if defined(GP_TARGET_CUDA)
inline constexpr Target kTarget = Target::kCuda;
#elif defined(GP_TARGET_AMD)
inline constexpr Target kTarget = Target::kAmd;
#else
inline constexpr Target kTarget = Target::kCpu;
#endif

// A matrix with a stride for each direction, in elements. Either may be zero or negative.
template <typename T>
struct View2 {
  T* data;
  index_t rows, cols;
  index_t row_stride, col_stride;

  GP_HOST_DEVICE T& operator()(index_t row, index_t col) const { return data[row * row_stride + col * col_stride]; }
};

}  // namespace gp
