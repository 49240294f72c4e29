// Memory order, vector and cached access, and waiting for another block.
//
// Scope is always the device. `load_acquire` and `store_release` pair up as in C++; `fetch_add` is both.
#pragma once

#include "types.cuh"

namespace gp {

inline constexpr int kVectorBytes = 16;  // the widest access of one thread on every target

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

// kWords words at once, each of which is written and read whole; nothing else is ordered by them.
template <int kWords>
struct Words {
  std::uint64_t word[kWords];
};

template <int kWords>
GP_DEVICE Words<kWords> load_relaxed(const std::uint64_t* address) {
  Words<kWords> words;
#if defined(GP_TARGET_CUDA)
  if constexpr (kWords == 2) {  // one access of 16 bytes
    asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(words.word[0]), "=l"(words.word[1])
                 : "l"(address)
                 : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(words.word[i]) : "l"(address + i) : "memory");
    }
  }
#else
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
#if defined(GP_TARGET_AMD)
    words.word[i] =
        __hip_atomic_load(const_cast<std::uint64_t*>(address + i), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
    words.word[i] = __atomic_load_n(address + i, __ATOMIC_RELAXED);
#endif
  }
#endif
  return words;
}

template <int kWords>
GP_DEVICE void store_relaxed(std::uint64_t* address, const Words<kWords>& words) {
#if defined(GP_TARGET_CUDA)
  if constexpr (kWords == 2) {
    asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(address), "l"(words.word[0]), "l"(words.word[1])
                 : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(address + i), "l"(words.word[i]) : "memory");
    }
  }
#else
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
#if defined(GP_TARGET_AMD)
    __hip_atomic_store(address + i, words.word[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
    __atomic_store_n(address + i, words.word[i], __ATOMIC_RELAXED);
#endif
  }
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

// The same without order: for tickets, which promise nothing about other memory.
template <typename T>
GP_DEVICE T fetch_add_relaxed(T* address, T value) {
  static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>);
#if defined(GP_TARGET_CUDA)
  T before;
  if constexpr (sizeof(T) == 4) {
    asm volatile("atom.add.relaxed.gpu.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  } else {
    asm volatile("atom.add.relaxed.gpu.u64 %0, [%1], %2;" : "=l"(before) : "l"(address), "l"(value) : "memory");
  }
  return before;
#elif defined(GP_TARGET_AMD)
  return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
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

// Whether the target copies from global to shared memory while the thread goes on, and has barrier objects there.
// Elsewhere the same calls copy at once, and there is nothing to wait for.
#if defined(GP_TARGET_CUDA) && defined(__CUDA_ARCH__)
inline constexpr int kCompiledArch = __CUDA_ARCH__;
#else
inline constexpr int kCompiledArch = 0;
#endif
inline constexpr bool kAsyncCopies = kCompiledArch >= 800;

// How soon what is read here is read again, as far as the kernel knows.
enum class Reuse : std::uint8_t { kUnknown, kSoon, kNever };

// What the L2 cache does with what is read: keeps it before other lines, or gives its place away first.
class CachePolicy {
 public:
  GP_DEVICE explicit CachePolicy([[maybe_unused]] Reuse reuse) {
#if defined(GP_TARGET_CUDA)
    if constexpr (kAsyncCopies) {
      std::uint64_t soon, never;
      asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(bits_));
      asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(soon));
      asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(never));
      if (reuse == Reuse::kSoon) bits_ = soon;
      if (reuse == Reuse::kNever) bits_ = never;
    }
#endif
  }
  GP_DEVICE std::uint64_t bits() const { return bits_; }

 private:
  std::uint64_t bits_ = 0;
};

// Keeps the compiler, and nothing else, from moving memory accesses across.
GP_DEVICE void compiler_fence() { asm volatile("" ::: "memory"); }

// What was computed from the word is computed anew from here on, rather than kept in registers. Grids here have one
// layer, so its number is 0: a word that NVIDIA's assembler, which sees through an empty statement, does not know.
GP_DEVICE void forget_derived(std::uint32_t& word) {
#if defined(GP_TARGET_CUDA)
  asm volatile("{ .reg .b32 zero; mov.b32 zero, %%ctaid.z; xor.b32 %0, %0, zero; }" : "+r"(word));
#elif defined(GP_TARGET_AMD)
  asm volatile("" : "+v"(word));
#else
  asm volatile("" : "+r"(word));
#endif
}

// kCount neighbours of a row, loaded or stored as one access where that is possible.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T items[kCount];
};

template <typename T>
inline constexpr int kPackItems = kVectorBytes / int(sizeof(T));

// Whether packs can be read from and written to the row at `row` directly.
template <typename T>
GP_DEVICE bool is_packable(const T* row, index_t col_stride) {
  return col_stride == 1 && reinterpret_cast<std::uintptr_t>(row) % kVectorBytes == 0;
}

// What the compiler moves 16 bytes as. A structure of items may be cut into items again; clang, the other way round,
// cannot put narrow items together in registers unless what they become is an integer.
#if defined(GP_TARGET_CUDA)
using Vector = uint4;
#else
struct alignas(kVectorBytes) Vector {
  std::uint64_t halves[2];
};
#endif

// One access of 16 bytes.
template <typename P>
GP_DEVICE P load_vector(const P* address) {
  static_assert(sizeof(P) == kVectorBytes);
  const Vector vector = *reinterpret_cast<const Vector*>(address);
  return bit_cast<P>(vector);
}
// The same where `is_there`, and zeros elsewhere. An instruction with a condition of its own: the compiler would make a
// branch of it and of what is done with the vector, and the next load would wait behind that.
template <typename P>
GP_DEVICE P load_vector_if(bool is_there, const P* address) {
  static_assert(sizeof(P) == kVectorBytes);
#if defined(GP_TARGET_CUDA)
  Vector vector = {};
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%5]; }"
               : "+r"(vector.x), "+r"(vector.y), "+r"(vector.z), "+r"(vector.w)
               : "r"(unsigned(is_there)), "l"(address));
  return bit_cast<P>(vector);
#else
  return is_there ? load_vector(address) : P{};
#endif
}
template <typename P>
GP_DEVICE void store_vector(P* address, const P& value) {
  static_assert(sizeof(P) == kVectorBytes);
  *reinterpret_cast<Vector*>(address) = bit_cast<Vector>(value);
}

template <typename T>
using PackOf = Pack<std::remove_const_t<T>, kPackItems<std::remove_const_t<T>>>;

template <typename T>
GP_DEVICE PackOf<T> load_pack(const T* address) {
  return load_vector(reinterpret_cast<const PackOf<T>*>(address));
}
// From global memory, past L1, which may be too small for what is on its way where shared memory takes most of it.
template <typename T>
GP_DEVICE PackOf<T> load_pack(const T* address, [[maybe_unused]] CachePolicy policy) {
#if defined(GP_TARGET_CUDA)
  if constexpr (kAsyncCopies) {
    std::uint32_t words[4];
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(address), "l"(policy.bits()));
    PackOf<T> pack;
    __builtin_memcpy(&pack, words, sizeof(pack));
    return pack;
  }
#endif
  return load_pack(address);
}
// To global memory. The compiler cuts even a store of its vector type into words where it is one of several in a row.
template <typename T>
GP_DEVICE void store_pack(T* address, const PackOf<T>& pack) {
#if defined(GP_TARGET_CUDA)
  std::uint32_t words[4];
  __builtin_memcpy(words, &pack, sizeof(words));
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3])
               : "memory");
#else
  store_vector(reinterpret_cast<PackOf<T>*>(address), pack);
#endif
}

}  // namespace gp
