// Memory order, vector access, and waiting for another block. All inline assembly of the layer lives here.
//
// Scope is always the device. `load_acquire` and `store_release` pair up as in C++; `fetch_add` is both.
#pragma once

#include "types.cuh"

namespace gp {

template <typename T>
GP_DEVICE T load_acquire(const T* address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(GP_TARGET_CUDA)
  if constexpr (sizeof(T) == 4) {
    std::uint32_t bits;
    asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(bits) : "l"(address) : "memory");
    return bit_cast<T>(bits);
  } else {
    std::uint64_t bits;
    asm volatile("ld.acquire.gpu.b64 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    return bit_cast<T>(bits);
  }
#elif defined(GP_TARGET_AMD)
  return __hip_atomic_load(const_cast<T*>(address), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
#else
  T value;
  __atomic_load(const_cast<T*>(address), &value, __ATOMIC_ACQUIRE);
  return value;
#endif
}

template <typename T>
GP_DEVICE void store_release(T* address, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(GP_TARGET_CUDA)
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(address), "r"(bit_cast<std::uint32_t>(value)) : "memory");
  } else {
    asm volatile("st.release.gpu.b64 [%0], %1;" ::"l"(address), "l"(bit_cast<std::uint64_t>(value)) : "memory");
  }
#elif defined(GP_TARGET_AMD)
  __hip_atomic_store(address, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
#else
  __atomic_store(address, &value, __ATOMIC_RELEASE);
#endif
}

// Adds and returns the value before. Acquires and releases: what any earlier adder wrote before its add is visible
// after.
GP_DEVICE std::uint32_t fetch_add(std::uint32_t* address, std::uint32_t value) {
#if defined(GP_TARGET_CUDA)
  std::uint32_t before;
  asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
#elif defined(GP_TARGET_AMD)
  return __hip_atomic_fetch_add(address, value, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
#else
  return __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
#endif
}

// Waits until `ready()` holds. The only way to wait for another block: on the CPU it gives way to the one waited for.
template <typename Ready>
GP_DEVICE void wait_until(Ready ready) {
  while (!ready()) {
#if defined(GP_TARGET_CPU)
    ::gpuport::simt::yield();
#elif defined(GP_TARGET_AMD)
    __builtin_amdgcn_s_sleep(1);
#endif
  }
}

// A barrier over all blocks of a resident launch (launch_resident). `arrivals` counts up for ever and starts at zero;
// it may be reused by the next barrier and the next launch of the same grid. Block 0's add completes the round: its
// increment flips the top bit, which every block waits to see change.
GP_DEVICE void grid_barrier(std::uint32_t* arrivals) {
  __syncthreads();  // everything the block wrote is ordered before its arrival
  if (threadIdx.x == 0) {
    const std::uint32_t step = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
    const std::uint32_t before = fetch_add(arrivals, step);
    wait_until([&] { return ((before ^ load_acquire(arrivals)) & 0x80000000u) != 0; });
  }
  __syncthreads();  // nobody goes on before thread 0 has seen every block arrive
}

// kCount neighbours of a row, loaded or stored as one access where that is possible.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T items[kCount];
};

inline constexpr int kVectorBytes = 16;  // the widest access of one thread on every target
template <typename T>
inline constexpr int kPackItems = kVectorBytes / int(sizeof(T));

// Whether packs can be read from and written to the row at `row` directly.
template <typename T>
GP_DEVICE bool is_packable(const T* row, index_t col_stride) {
  return col_stride == 1 && reinterpret_cast<std::uintptr_t>(row) % kVectorBytes == 0;
}

template <typename T>
using PackOf = Pack<std::remove_const_t<T>, kPackItems<std::remove_const_t<T>>>;

template <typename T>
GP_DEVICE PackOf<T> load_pack(const T* address) {
  return *reinterpret_cast<const PackOf<T>*>(address);
}
template <typename T>
GP_DEVICE void store_pack(T* address, const PackOf<T>& pack) {
  *reinterpret_cast<PackOf<T>*>(address) = pack;
}

}  // namespace gp
