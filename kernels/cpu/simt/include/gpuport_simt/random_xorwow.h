// XORWOW (Marsaglia, 2003): five words of a shift register and a counter. Skipping ahead is a power of the register's
// matrix over bits: subsequences start 2^67 numbers apart.
#pragma once

#include <array>
#include <vector>

#include "types.h"

struct curandStateXORWOW {
  unsigned d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
using curandStateXORWOW_t = curandStateXORWOW;
using curandState_t = curandStateXORWOW;
using curandState = curandStateXORWOW;

namespace gpuport::simt {

using Register = std::array<unsigned, 5>;
inline Register next_register(const Register& v) {
  const unsigned t = v[0] ^ (v[0] >> 2);
  return {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
}

// What a number of steps makes of each single bit; what it makes of a register is the sum over its bits.
using Steps = std::array<Register, 160>;
inline Register after_steps(const Steps& steps, const Register& v) {
  Register result{};
  for (unsigned bit = 0; bit < 160; ++bit)
    if (v[bit / 32] >> (bit % 32) & 1)
      for (unsigned word = 0; word < 5; ++word) result[word] ^= steps[bit][word];
  return result;
}
// Steps 1, 2, 4, ... up to 2^130, made once.
inline const Steps& power_of_two_steps(unsigned exponent) {
  static const std::vector<Steps> all = [] {
    std::vector<Steps> powers(131);
    for (unsigned bit = 0; bit < 160; ++bit) {
      Register one{};
      one[bit / 32] = 1u << (bit % 32);
      powers[0][bit] = next_register(one);
    }
    for (unsigned i = 1; i < powers.size(); ++i)
      for (unsigned bit = 0; bit < 160; ++bit) powers[i][bit] = after_steps(powers[i - 1], powers[i - 1][bit]);
    return powers;
  }();
  return all[exponent];
}
inline void skip_register(unsigned* v, unsigned long long count, unsigned first_exponent) {
  Register now{v[0], v[1], v[2], v[3], v[4]};
  for (unsigned bit = 0; count >> bit != 0; ++bit) {
    if (count >> bit & 1) now = after_steps(power_of_two_steps(first_exponent + bit), now);
    if (bit == 63) break;
  }
  for (unsigned word = 0; word < 5; ++word) v[word] = now[word];
}

}  // namespace gpuport::simt

inline void skipahead(unsigned long long count, curandStateXORWOW_t* state) {
  gpuport::simt::skip_register(state->v, count, 0);
  state->d += 362437u * unsigned(count);
}
// 2^67 numbers each: the counter comes back to where it was.
inline void skipahead_sequence(unsigned long long count, curandStateXORWOW_t* state) {
  gpuport::simt::skip_register(state->v, count, 67);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateXORWOW_t* state) {
  const unsigned low = unsigned(seed) ^ 0xaad26b49u, high = unsigned(seed >> 32) ^ 0xf7dcefddu;
  const unsigned a = 1099087573u * low, b = 2591861531u * high;
  *state = {
      6615241u + b + a, {123456789u + a, 362436069u ^ a, 521288629u + b, 88675123u ^ b, 5783321u + a}, 0, 0, 0, 0};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned curand(curandStateXORWOW_t* state) {
  const gpuport::simt::Register next =
      gpuport::simt::next_register({state->v[0], state->v[1], state->v[2], state->v[3], state->v[4]});
  for (unsigned word = 0; word < 5; ++word) state->v[word] = next[word];
  state->d += 362437u;
  return state->v[4] + state->d;
}
