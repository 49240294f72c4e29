// Atomics: real ones, because blocks run on several cores. All are sequentially consistent, which is more than CUDA's
// relaxed order promises.
#pragma once

#include <type_traits>

#include "machine.h"

namespace gpuport::simt {

template <typename T>
inline constexpr bool kIsAtomicWord = (std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

// A value that changed is progress; an operation that changes nothing, repeated, is somebody waiting.
template <typename T>
inline T note_change(T before, bool changed, Site site) {
  if (changed)
    note_progress();
  else
    note_poll(site);
  return before;
}

// `next` of the value until nobody came in between.
template <typename T, typename Next>
inline T update(T* address, Next next) {
  T before;
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  for (;;) {
    T after = next(before);
    if (__atomic_compare_exchange(address, &before, &after, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) break;
  }
  note_progress();
  return before;
}

}  // namespace gpuport::simt

#define GPUPORT_SIMT_SITE gpuport::simt::Site site = gpuport::simt::Site::here()

// The value's type does not take part in deduction: atomicAdd(long_pointer, 1) is the same call as in CUDA.
template <typename T>
inline T atomicAdd(T* address, std::type_identity_t<T> value, GPUPORT_SIMT_SITE) {
  if constexpr (std::is_floating_point_v<T>) {
    return gpuport::simt::update(address, [value](T before) { return before + value; });
  } else {
    static_assert(gpuport::simt::kIsAtomicWord<T>);
    return gpuport::simt::note_change(__atomic_fetch_add(address, value, __ATOMIC_SEQ_CST), value != 0, site);
  }
}
template <typename T>
inline T atomicSub(T* address, std::type_identity_t<T> value, GPUPORT_SIMT_SITE) {
  static_assert(gpuport::simt::kIsAtomicWord<T>);
  return gpuport::simt::note_change(__atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST), value != 0, site);
}
template <typename T>
inline T atomicMax(T* address, std::type_identity_t<T> value) {
  static_assert(gpuport::simt::kIsAtomicWord<T>);
  return gpuport::simt::update(address, [value](T before) { return before < value ? value : before; });
}
template <typename T>
inline T atomicMin(T* address, std::type_identity_t<T> value) {
  static_assert(gpuport::simt::kIsAtomicWord<T>);
  return gpuport::simt::update(address, [value](T before) { return value < before ? value : before; });
}
template <typename T>
inline T atomicAnd(T* address, std::type_identity_t<T> value) {
  static_assert(gpuport::simt::kIsAtomicWord<T>);
  return gpuport::simt::note_change(__atomic_fetch_and(address, value, __ATOMIC_SEQ_CST), true, {});
}
template <typename T>
inline T atomicOr(T* address, std::type_identity_t<T> value, GPUPORT_SIMT_SITE) {
  static_assert(gpuport::simt::kIsAtomicWord<T>);
  return gpuport::simt::note_change(__atomic_fetch_or(address, value, __ATOMIC_SEQ_CST), value != 0, site);
}
template <typename T>
inline T atomicXor(T* address, std::type_identity_t<T> value) {
  static_assert(gpuport::simt::kIsAtomicWord<T>);
  return gpuport::simt::note_change(__atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST), true, {});
}
template <typename T>
inline T atomicExch(T* address, std::type_identity_t<T> value, GPUPORT_SIMT_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  T before;
  __atomic_exchange(address, &value, &before, __ATOMIC_SEQ_CST);
  return gpuport::simt::note_change(before, __builtin_memcmp(&before, &value, sizeof(T)) != 0, site);
}
template <typename T>
inline T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> desired, GPUPORT_SIMT_SITE) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 2 && sizeof(T) <= 8);
  const T wanted = expected;
  const bool swapped =
      __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return gpuport::simt::note_change(swapped ? wanted : expected, swapped && wanted != desired, site);
}
// Each component is one operation, as in CUDA.
inline float2 atomicAdd(float2* address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z),
          atomicAdd(&address->w, value.w)};
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return gpuport::simt::update(address, [limit](unsigned before) { return before >= limit ? 0u : before + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return gpuport::simt::update(address,
                               [limit](unsigned before) { return before == 0 || before > limit ? limit : before - 1; });
}

#define GPUPORT_SIMT_SCOPED(name)                        \
  template <typename T, typename... Values>              \
  inline T name##_block(T* address, Values... values) {  \
    return name(address, values...);                     \
  }                                                      \
  template <typename T, typename... Values>              \
  inline T name##_system(T* address, Values... values) { \
    return name(address, values...);                     \
  }
GPUPORT_SIMT_SCOPED(atomicAdd)
GPUPORT_SIMT_SCOPED(atomicSub)
GPUPORT_SIMT_SCOPED(atomicMax)
GPUPORT_SIMT_SCOPED(atomicMin)
GPUPORT_SIMT_SCOPED(atomicAnd)
GPUPORT_SIMT_SCOPED(atomicOr)
GPUPORT_SIMT_SCOPED(atomicXor)
GPUPORT_SIMT_SCOPED(atomicExch)
GPUPORT_SIMT_SCOPED(atomicCAS)
#undef GPUPORT_SIMT_SCOPED
