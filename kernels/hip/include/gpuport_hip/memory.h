// Managed variables, loads and stores with a cache hint, atomics that older HIP lacks, and what stops or delays a
// thread.
#pragma once

#if !defined(__managed__)  // HIP 5 knows it by its attribute only
#define __managed__ __attribute__((managed))
#endif

namespace gpuport_hip {

template <typename T>
struct As {
  using Type = T;
};

template <typename T>
struct OnlySigned {};
template <>
struct OnlySigned<long long> {
  using Type = long long;
};

}  // namespace gpuport_hip

// A hint changes no value: a plain access is right. The value of a store converts to what is pointed to, as in CUDA.
#define GPUPORT_HIP_LOAD(name)               \
  template <typename T>                      \
  __device__ inline T name(const T* place) { \
    return *place;                           \
  }
#define GPUPORT_HIP_STORE(name)                                                    \
  template <typename T>                                                            \
  __device__ inline void name(T* place, typename gpuport_hip::As<T>::Type value) { \
    *place = value;                                                                \
  }
GPUPORT_HIP_LOAD(__ldca)
GPUPORT_HIP_LOAD(__ldcg)
GPUPORT_HIP_LOAD(__ldcs)
GPUPORT_HIP_LOAD(__ldlu)
GPUPORT_HIP_STORE(__stcg)
GPUPORT_HIP_STORE(__stcs)
GPUPORT_HIP_STORE(__stwb)
GPUPORT_HIP_STORE(__stwt)
#undef GPUPORT_HIP_LOAD
#undef GPUPORT_HIP_STORE

// Templates, so that HIP's own are taken where it has them.
template <typename T>
__device__ inline typename gpuport_hip::OnlySigned<T>::Type atomicMin(T* place,
                                                                      typename gpuport_hip::As<T>::Type value) {
  return __hip_atomic_fetch_min(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
__device__ inline typename gpuport_hip::OnlySigned<T>::Type atomicMax(T* place,
                                                                      typename gpuport_hip::As<T>::Type value) {
  return __hip_atomic_fetch_max(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Of the whole device, which contains the block.
#define GPUPORT_HIP_BLOCK_ATOMIC(name)                                                  \
  template <typename T>                                                                 \
  __device__ inline T name##_block(T* place, typename gpuport_hip::As<T>::Type value) { \
    return name(place, value);                                                          \
  }
GPUPORT_HIP_BLOCK_ATOMIC(atomicAdd)
GPUPORT_HIP_BLOCK_ATOMIC(atomicSub)
GPUPORT_HIP_BLOCK_ATOMIC(atomicExch)
GPUPORT_HIP_BLOCK_ATOMIC(atomicMin)
GPUPORT_HIP_BLOCK_ATOMIC(atomicMax)
GPUPORT_HIP_BLOCK_ATOMIC(atomicAnd)
GPUPORT_HIP_BLOCK_ATOMIC(atomicOr)
GPUPORT_HIP_BLOCK_ATOMIC(atomicXor)
GPUPORT_HIP_BLOCK_ATOMIC(atomicInc)
GPUPORT_HIP_BLOCK_ATOMIC(atomicDec)
#undef GPUPORT_HIP_BLOCK_ATOMIC
template <typename T>
__device__ inline T atomicCAS_block(T* place, typename gpuport_hip::As<T>::Type expected,
                                    typename gpuport_hip::As<T>::Type value) {
  return atomicCAS(place, expected, value);
}

__device__ inline void __trap() { __builtin_trap(); }

// A step is 64 cycles, less than 64 ns from 1 GHz on; CUDA allows anything from nothing to twice the time.
__device__ inline void __nanosleep(unsigned nanoseconds) {
  for (unsigned left = nanoseconds / 64; left != 0; --left) __builtin_amdgcn_s_sleep(1);
}
