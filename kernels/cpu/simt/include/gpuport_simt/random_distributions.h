// Uniform, normal and other distributions over a generator's bits.
#pragma once

#include <cmath>
#include <concepts>

#include "random_philox.h"
#include "random_xorwow.h"

namespace gpuport::simt {

template <typename State>
concept RandomState = requires(State* state) {
  { curand(state) } -> std::same_as<unsigned>;
  state->boxmuller_flag;
};

// In (0, 1]: 2^-32 a step, from the middle of the first.
inline float uniform_of(unsigned bits) { return float(bits) * 0x1p-32f + 0x1p-33f; }
inline double uniform_of(unsigned low, unsigned high) {
  const unsigned long long bits = low ^ (unsigned long long)(high) << 21;
  return double(bits) * 0x1p-53 + 0x1p-54;
}
inline float2 box_muller(unsigned x, unsigned y) {
  const float u = float(x) * 0x1p-32f + 0x1p-33f, angle = (float(y) * 0x1p-32f + 0x1p-33f) * 6.2831855f;
  const float radius = std::sqrt(-2.0f * std::log(u));
  return {radius * std::sin(angle), radius * std::cos(angle)};
}
inline double2 box_muller(double u, double v) {
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * sinpi(2 * v), radius * cospi(2 * v)};
}
// Normal numbers come in twos: the second waits in the state for the next call.
template <typename Flag, typename Number, typename Two>
Number one_of_two(Flag& waits, Number& second, Two two) {
  if (waits != 0) {
    waits = 0;
    return second;
  }
  const auto both = two();
  waits = 1;
  second = both.y;
  return both.x;
}

}  // namespace gpuport::simt

template <gpuport::simt::RandomState State>
float curand_uniform(State* state) {
  return gpuport::simt::uniform_of(curand(state));
}
template <gpuport::simt::RandomState State>
double curand_uniform_double(State* state) {
  const unsigned low = curand(state);
  return gpuport::simt::uniform_of(low, curand(state));
}
template <gpuport::simt::RandomState State>
float2 curand_normal2(State* state) {
  const unsigned x = curand(state);
  return gpuport::simt::box_muller(x, curand(state));
}
template <gpuport::simt::RandomState State>
float curand_normal(State* state) {
  return gpuport::simt::one_of_two(state->boxmuller_flag, state->boxmuller_extra,
                                   [&] { return curand_normal2(state); });
}
template <gpuport::simt::RandomState State>
double2 curand_normal2_double(State* state) {
  const unsigned u = curand(state), u_high = curand(state), v = curand(state), v_high = curand(state);
  return gpuport::simt::box_muller(gpuport::simt::uniform_of(u, u_high), gpuport::simt::uniform_of(v, v_high));
}
template <gpuport::simt::RandomState State>
double curand_normal_double(State* state) {
  return gpuport::simt::one_of_two(state->boxmuller_flag_double, state->boxmuller_extra_double,
                                   [&] { return curand_normal2_double(state); });
}
template <gpuport::simt::RandomState State>
float curand_log_normal(State* state, float mean, float deviation) {
  return std::exp(mean + deviation * curand_normal(state));
}
template <gpuport::simt::RandomState State>
double curand_log_normal_double(State* state, double mean, double deviation) {
  return std::exp(mean + deviation * curand_normal_double(state));
}

// cuRAND makes this one of a single number of Philox.
inline double curand_uniform_double(curandStatePhilox4_32_10_t* state) {
  return double(curand(state)) * 0x1p-32 + 0x1p-32;
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10_t* state) {
  const uint4 bits = curand4(state);
  return {gpuport::simt::uniform_of(bits.x, bits.y), gpuport::simt::uniform_of(bits.z, bits.w)};
}

// Four at a time, of the generator that makes four.
inline float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
  const uint4 bits = curand4(state);
  using gpuport::simt::uniform_of;
  return {uniform_of(bits.x), uniform_of(bits.y), uniform_of(bits.z), uniform_of(bits.w)};
}
inline float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
  const uint4 bits = curand4(state);
  const float2 a = gpuport::simt::box_muller(bits.x, bits.y), b = gpuport::simt::box_muller(bits.z, bits.w);
  return {a.x, a.y, b.x, b.y};
}
