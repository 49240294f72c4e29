// Operations on the two 16-bit or four 8-bit parts of a word, each part for itself, and sums of their products.
#pragma once

#include <type_traits>

#include "types.h"

namespace gpuport::simt {

// Part by part: `f` gets two wide integers, its result is cut to the part.
template <typename Part, typename F>
inline unsigned by_parts(unsigned a, unsigned b, F f) {
  constexpr int kBits = int(sizeof(Part)) * 8;
  unsigned result = 0;
  for (int at = 0; at < 32; at += kBits)
    result |= unsigned(std::make_unsigned_t<Part>(f(int(Part(a >> at)), int(Part(b >> at))))) << at;
  return result;
}
template <typename Part>
inline int saturated(int value) {
  constexpr int kMost = std::is_signed_v<Part> ? (1 << (sizeof(Part) * 8 - 1)) - 1 : (1 << sizeof(Part) * 8) - 1;
  constexpr int kLeast = std::is_signed_v<Part> ? -kMost - 1 : 0;
  return value < kLeast ? kLeast : value > kMost ? kMost : value;
}
inline int distance(int a, int b) { return a < b ? b - a : a - b; }
// Halves are rounded away from zero.
inline int rounded_average(int a, int b) { return (a + b + (a + b >= 0)) >> 1; }
template <typename Part>
inline unsigned sum_of_parts(unsigned v) {
  unsigned sum = 0;
  for (unsigned at = 0; at < 32; at += sizeof(Part) * 8) sum += std::make_unsigned_t<Part>(v >> at);
  return sum;
}

// The sum of products of the parts of `a` with as many bytes of `b`, from `first` on, and of `c`.
template <typename PartA, typename PartB, typename T>
inline T dot_parts(unsigned a, unsigned b, T c, unsigned first = 0) {
  unsigned sum = unsigned(c);
  for (unsigned i = 0; i < 4 / sizeof(PartA); ++i)
    sum += unsigned(int(PartA(a >> 8 * sizeof(PartA) * i)) * int(PartB(b >> 8 * (first + i))));
  return T(sum);
}
inline unsigned word_of(int v) { return unsigned(v); }
inline unsigned word_of(unsigned v) { return v; }
inline unsigned word_of(char4 v) {
  using Byte = unsigned char;
  return Byte(v.x) | unsigned(Byte(v.y)) << 8 | unsigned(Byte(v.z)) << 16 | unsigned(Byte(v.w)) << 24;
}
inline unsigned word_of(uchar4 v) { return v.x | unsigned(v.y) << 8 | unsigned(v.z) << 16 | unsigned(v.w) << 24; }
inline unsigned word_of(short2 v) { return (unsigned short)v.x | unsigned((unsigned short)v.y) << 16; }
inline unsigned word_of(ushort2 v) { return v.x | unsigned(v.y) << 16; }

// Part by part of a word of 32 bits, or the whole word where the part is one.
template <typename Part, typename Word, typename F>
inline Word by_parts_of(Word a, Word b, F f) {
  if constexpr (sizeof(Part) == 4)
    return Word(f(static_cast<long long>(a), static_cast<long long>(b)));
  else
    return by_parts<Part>(a, b, f);
}
template <typename Part, typename Word>
inline Word greater_parts(Word a, Word b) {
  return by_parts_of<Part>(a, b, [](auto p, auto q) { return p < q ? q : p; });
}
template <typename Part, typename Word>
inline Word smaller_parts(Word a, Word b) {
  return by_parts_of<Part>(a, b, [](auto p, auto q) { return q < p ? q : p; });
}
template <typename Part, typename Word>
inline Word added_parts(Word a, Word b) {
  return by_parts_of<Part>(a, b, [](auto p, auto q) { return p + q; });
}

}  // namespace gpuport::simt

#define GPUPORT_SIMT_PARTS2(name, part, count, expression)                               \
  inline unsigned name##count(unsigned x, unsigned y) {                                  \
    return gpuport::simt::by_parts<part>(x, y, [](int a, int b) { return expression; }); \
  }
#define GPUPORT_SIMT_PARTS1(name, part, count, expression)                                                 \
  inline unsigned name##count(unsigned x) {                                                                \
    return gpuport::simt::by_parts<part>(x, 0u, [](int a, [[maybe_unused]] int b) { return expression; }); \
  }
#define GPUPORT_SIMT_PARTS_SUM(name, part, count)                            \
  inline unsigned __vsad##name##count(unsigned x, unsigned y) {              \
    return gpuport::simt::sum_of_parts<part>(__vabsdiff##name##count(x, y)); \
  }
// Comparisons: all bits of the part, or its lowest.
#define GPUPORT_SIMT_PARTS_ORDER(name, part, count, expression) \
  GPUPORT_SIMT_PARTS2(__vcmp##name, part, count, -(expression)) \
  GPUPORT_SIMT_PARTS2(__vset##name, part, count, int(expression))

#define GPUPORT_SIMT_PARTS(count, s_part, u_part)                                                \
  GPUPORT_SIMT_PARTS2(__vadd, u_part, count, a + b)                                              \
  GPUPORT_SIMT_PARTS2(__vaddss, s_part, count, gpuport::simt::saturated<s_part>(a + b))          \
  GPUPORT_SIMT_PARTS2(__vaddus, u_part, count, gpuport::simt::saturated<u_part>(a + b))          \
  GPUPORT_SIMT_PARTS2(__vsub, u_part, count, a - b)                                              \
  GPUPORT_SIMT_PARTS2(__vsubss, s_part, count, gpuport::simt::saturated<s_part>(a - b))          \
  GPUPORT_SIMT_PARTS2(__vsubus, u_part, count, gpuport::simt::saturated<u_part>(a - b))          \
  GPUPORT_SIMT_PARTS2(__vavgs, s_part, count, gpuport::simt::rounded_average(a, b))              \
  GPUPORT_SIMT_PARTS2(__vavgu, u_part, count, gpuport::simt::rounded_average(a, b))              \
  GPUPORT_SIMT_PARTS2(__vhaddu, u_part, count, (a + b) >> 1)                                     \
  GPUPORT_SIMT_PARTS2(__vabsdiffs, s_part, count, gpuport::simt::distance(a, b))                 \
  GPUPORT_SIMT_PARTS2(__vabsdiffu, u_part, count, gpuport::simt::distance(a, b))                 \
  GPUPORT_SIMT_PARTS2(__vmaxs, s_part, count, a < b ? b : a)                                     \
  GPUPORT_SIMT_PARTS2(__vmaxu, u_part, count, a < b ? b : a)                                     \
  GPUPORT_SIMT_PARTS2(__vmins, s_part, count, a < b ? a : b)                                     \
  GPUPORT_SIMT_PARTS2(__vminu, u_part, count, a < b ? a : b)                                     \
  GPUPORT_SIMT_PARTS1(__vabs, s_part, count, a < 0 ? -a : a)                                     \
  GPUPORT_SIMT_PARTS1(__vabsss, s_part, count, gpuport::simt::saturated<s_part>(a < 0 ? -a : a)) \
  GPUPORT_SIMT_PARTS1(__vneg, s_part, count, -a)                                                 \
  GPUPORT_SIMT_PARTS1(__vnegss, s_part, count, gpuport::simt::saturated<s_part>(-a))             \
  GPUPORT_SIMT_PARTS_SUM(s, s_part, count)                                                       \
  GPUPORT_SIMT_PARTS_SUM(u, u_part, count)                                                       \
  GPUPORT_SIMT_PARTS_ORDER(eq, u_part, count, a == b)                                            \
  GPUPORT_SIMT_PARTS_ORDER(ne, u_part, count, a != b)                                            \
  GPUPORT_SIMT_PARTS_ORDER(ges, s_part, count, a >= b)                                           \
  GPUPORT_SIMT_PARTS_ORDER(geu, u_part, count, a >= b)                                           \
  GPUPORT_SIMT_PARTS_ORDER(gts, s_part, count, a > b)                                            \
  GPUPORT_SIMT_PARTS_ORDER(gtu, u_part, count, a > b)                                            \
  GPUPORT_SIMT_PARTS_ORDER(les, s_part, count, a <= b)                                           \
  GPUPORT_SIMT_PARTS_ORDER(leu, u_part, count, a <= b)                                           \
  GPUPORT_SIMT_PARTS_ORDER(lts, s_part, count, a < b)                                            \
  GPUPORT_SIMT_PARTS_ORDER(ltu, u_part, count, a < b)
GPUPORT_SIMT_PARTS(2, short, unsigned short)
GPUPORT_SIMT_PARTS(4, signed char, unsigned char)
#undef GPUPORT_SIMT_PARTS
#undef GPUPORT_SIMT_PARTS_ORDER
#undef GPUPORT_SIMT_PARTS_SUM
#undef GPUPORT_SIMT_PARTS1

#undef GPUPORT_SIMT_PARTS2

// Sums, minima and maxima in one, of whole words and of two halves. `_relu` ends with the greater of that and 0.
#define GPUPORT_SIMT_FUSED(order, better, suffix, word, part)                      \
  inline word __vi##order##3_##suffix(word a, word b, word c) {                    \
    return gpuport::simt::better<part>(gpuport::simt::better<part>(a, b), c);      \
  }                                                                                \
  inline word __viadd##order##_##suffix(word a, word b, word c) {                  \
    return gpuport::simt::better<part>(gpuport::simt::added_parts<part>(a, b), c); \
  }
#define GPUPORT_SIMT_FUSED_RELU(order, better, suffix, word, part)                          \
  GPUPORT_SIMT_FUSED(order, better, suffix, word, part)                                     \
  inline word __vi##order##_##suffix##_relu(word a, word b) {                               \
    return gpuport::simt::greater_parts<part>(gpuport::simt::better<part>(a, b), word(0));  \
  }                                                                                         \
  inline word __vi##order##3_##suffix##_relu(word a, word b, word c) {                      \
    return gpuport::simt::greater_parts<part>(__vi##order##3_##suffix(a, b, c), word(0));   \
  }                                                                                         \
  inline word __viadd##order##_##suffix##_relu(word a, word b, word c) {                    \
    return gpuport::simt::greater_parts<part>(__viadd##order##_##suffix(a, b, c), word(0)); \
  }
GPUPORT_SIMT_FUSED_RELU(max, greater_parts, s32, int, int)
GPUPORT_SIMT_FUSED_RELU(min, smaller_parts, s32, int, int)
GPUPORT_SIMT_FUSED_RELU(max, greater_parts, s16x2, unsigned, short)
GPUPORT_SIMT_FUSED_RELU(min, smaller_parts, s16x2, unsigned, short)
GPUPORT_SIMT_FUSED(max, greater_parts, u32, unsigned, unsigned)
GPUPORT_SIMT_FUSED(min, smaller_parts, u32, unsigned, unsigned)
GPUPORT_SIMT_FUSED(max, greater_parts, u16x2, unsigned, unsigned short)
GPUPORT_SIMT_FUSED(min, smaller_parts, u16x2, unsigned, unsigned short)
#undef GPUPORT_SIMT_FUSED_RELU
#undef GPUPORT_SIMT_FUSED

// The greater or the smaller, and whether it is the first one; of equal ones it is.
#define GPUPORT_SIMT_CHOICE(name, suffix, word, part, holds) \
  inline word name##_##suffix(word a, word b, bool* first) { \
    *first = a holds b;                                      \
    return *first ? a : b;                                   \
  }
#define GPUPORT_SIMT_CHOICES(name, suffix, word, part, holds)                        \
  inline word name##_##suffix(word a, word b, bool* first_high, bool* first_low) {   \
    *first_high = static_cast<part>(a >> 16) holds static_cast<part>(b >> 16);       \
    *first_low = static_cast<part>(a) holds static_cast<part>(b);                    \
    return ((*first_high ? a : b) & 0xffff0000u) | ((*first_low ? a : b) & 0xffffu); \
  }
GPUPORT_SIMT_CHOICE(__vibmax, s32, int, int, >=)
GPUPORT_SIMT_CHOICE(__vibmin, s32, int, int, <=)
GPUPORT_SIMT_CHOICE(__vibmax, u32, unsigned, unsigned, >=)
GPUPORT_SIMT_CHOICE(__vibmin, u32, unsigned, unsigned, <=)
GPUPORT_SIMT_CHOICES(__vibmax, s16x2, unsigned, short, >=)
GPUPORT_SIMT_CHOICES(__vibmin, s16x2, unsigned, short, <=)
GPUPORT_SIMT_CHOICES(__vibmax, u16x2, unsigned, unsigned short, >=)
GPUPORT_SIMT_CHOICES(__vibmin, u16x2, unsigned, unsigned short, <=)
#undef GPUPORT_SIMT_CHOICES
#undef GPUPORT_SIMT_CHOICE

// Products of parts, added to a word.
#define GPUPORT_SIMT_DOT(name, a_type, b_type, word, a_part, b_part, first)                                          \
  inline word name(a_type a, b_type b, word c) {                                                                     \
    return gpuport::simt::dot_parts<a_part, b_part>(gpuport::simt::word_of(a), gpuport::simt::word_of(b), c, first); \
  }
#define GPUPORT_SIMT_DOTS(name, halves, s_part, u_part, first)                       \
  GPUPORT_SIMT_DOT(name, int, int, int, s_part, signed char, first)                  \
  GPUPORT_SIMT_DOT(name, unsigned, unsigned, unsigned, u_part, unsigned char, first) \
  GPUPORT_SIMT_DOT(name, halves, char4, int, s_part, signed char, first)             \
  GPUPORT_SIMT_DOT(name, u##halves, uchar4, unsigned, u_part, unsigned char, first)
GPUPORT_SIMT_DOTS(__dp4a, char4, signed char, unsigned char, 0)
GPUPORT_SIMT_DOTS(__dp2a_lo, short2, short, unsigned short, 0)
GPUPORT_SIMT_DOTS(__dp2a_hi, short2, short, unsigned short, 2)
#undef GPUPORT_SIMT_DOTS
#undef GPUPORT_SIMT_DOT
