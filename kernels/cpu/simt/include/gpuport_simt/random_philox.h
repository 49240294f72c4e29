// Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): a counter, encrypted. The lower half of the counter counts
// groups of four numbers, the upper half is the subsequence.
#pragma once

#include "types.h"

struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;  // how many of `output` have been taken
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;

inline uint4 curand_Philox4x32_10(uint4 c, uint2 k) {
  constexpr unsigned long long kFirst = 0xd2511f53u, kSecond = 0xcd9e8d57u;
  for (int round = 0; round < 10; ++round) {
    const unsigned long long first = kFirst * c.x, second = kSecond * c.z;
    c = {unsigned(second >> 32) ^ c.y ^ k.x, unsigned(second), unsigned(first >> 32) ^ c.w ^ k.y, unsigned(first)};
    k.x += 0x9e3779b9u;
    k.y += 0xbb67ae85u;
  }
  return c;
}

namespace gpuport::simt {
inline void advance_counter(uint4& counter, unsigned long long groups, unsigned long long subsequences) {
  const unsigned long long low = counter.x | (unsigned long long)(counter.y) << 32;
  const unsigned long long high = counter.z | (unsigned long long)(counter.w) << 32;
  const unsigned long long sum = low + groups, upper = high + subsequences + (sum < low);
  counter = {unsigned(sum), unsigned(sum >> 32), unsigned(upper), unsigned(upper >> 32)};
}
}  // namespace gpuport::simt

inline void skipahead(unsigned long long count, curandStatePhilox4_32_10_t* state) {
  const unsigned long long place = state->STATE + count % 4;
  gpuport::simt::advance_counter(state->ctr, count / 4 + place / 4, 0);
  state->STATE = unsigned(place % 4);
  state->output = curand_Philox4x32_10(state->ctr, state->key);
}
inline void skipahead_sequence(unsigned long long count, curandStatePhilox4_32_10_t* state) {
  gpuport::simt::advance_counter(state->ctr, 0, count);
  state->output = curand_Philox4x32_10(state->ctr, state->key);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10_t* state) {
  *state = {};
  state->key = {unsigned(seed), unsigned(seed >> 32)};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned curand(curandStatePhilox4_32_10_t* state) {
  const unsigned of_group[] = {state->output.x, state->output.y, state->output.z, state->output.w};
  const unsigned value = of_group[state->STATE];
  skipahead(1, state);
  return value;
}
inline uint4 curand4(curandStatePhilox4_32_10_t* state) {
  const unsigned a = curand(state), b = curand(state), c = curand(state);
  return {a, b, c, curand(state)};
}
