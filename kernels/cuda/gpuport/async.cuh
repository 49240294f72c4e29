// What goes on beside a kernel's own work: copies into shared memory that arrive while their thread goes on, signals
// between the warps of a block, and kernels that begin while the one before them ends.
#pragma once

#include "memory.cuh"

namespace gp {

// Copies one T of 4, 8 or 16 bytes, aligned to its size. The calling thread may read it once its group of copies has
// arrived; other threads need a barrier besides.
template <typename T>
GP_DEVICE void copy_async(T* shared, const T* global) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
#if defined(GP_TARGET_CUDA)
  if constexpr (kAsyncCopies) {
    const auto target = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    if constexpr (sizeof(T) == 16) {  // past L1: nothing reads it again from there
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(global) : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(target), "l"(global), "n"(sizeof(T)) : "memory");
    }
    return;
  }
#endif
  *shared = *global;
}

// The same of 16 bytes, with a policy.
template <typename T>
GP_DEVICE void copy_async(T* shared, const T* global, [[maybe_unused]] CachePolicy policy) {
#if defined(GP_TARGET_CUDA)
  if constexpr (kAsyncCopies) {
    static_assert(sizeof(T) == kVectorBytes);
    const auto target = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(target), "l"(global),
                 "l"(policy.bits())
                 : "memory");
    return;
  }
#endif
  copy_async(shared, global);
}

// Ends a group: the copies since the last one.
GP_DEVICE void end_copy_group() {
#if defined(GP_TARGET_CUDA)
  if constexpr (kAsyncCopies) asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until all of the thread's groups but the newest kPending have arrived.
template <int kPending>
GP_DEVICE void wait_for_copies() {
#if defined(GP_TARGET_CUDA)
  if constexpr (kAsyncCopies) asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

inline constexpr int kMostPendingGroups = 15;

// The same for a number that is known at run time; the instruction takes a constant only.
template <int kMost = kMostPendingGroups>
GP_DEVICE void wait_for_copies([[maybe_unused]] int pending) {
  if constexpr (kMost > 0) {
    if (pending < kMost) return wait_for_copies<kMost - 1>(pending);
  }
  wait_for_copies<kMost>();
}

// A place in shared memory where some warps of a block wait for others, while the rest go on: what a warp wrote before
// it arrived is visible to who has waited. It is used in rounds of a fixed number of arrivals; nobody may be more than
// one round behind. Needs a block barrier between init() and the first use.
class Signal {
 public:
  GP_DEVICE void init(int arrivals) {
#if defined(GP_TARGET_CUDA)
    if constexpr (kAsyncCopies) {  // the hardware's barrier object, which puts a waiting warp to sleep
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
      return;
    }
#endif
    state_ = std::uint64_t(arrivals) << 32;
  }

  // By one lane of a warp, after Warp::sync().
  GP_DEVICE void arrive() {
#if defined(GP_TARGET_CUDA)
    if constexpr (kAsyncCopies) {
      [[maybe_unused]] std::uint64_t token;
      asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(address()) : "memory");
    } else {
      __threadfence_block();
      atomicAdd(arrivals(), 1u);
    }
#elif defined(GP_TARGET_AMD)
    __hip_atomic_fetch_add(arrivals(), 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
#else
    __atomic_fetch_add(arrivals(), 1u, __ATOMIC_RELEASE);
#endif
  }

  // Until all arrivals of a round, counted from zero, are in.
  GP_DEVICE void wait(std::uint32_t round) {
    wait_until([&] { return is_over(round); });
  }

 private:
  // The barrier object; or arrivals so far in the lower half, those of one round in the upper.
  std::uint64_t state_;

  GP_DEVICE std::uint32_t* arrivals() { return reinterpret_cast<std::uint32_t*>(&state_); }

#if defined(GP_TARGET_CUDA)
  GP_DEVICE std::uint32_t address() const { return static_cast<std::uint32_t>(__cvta_generic_to_shared(&state_)); }
#endif

  GP_DEVICE bool is_over(std::uint32_t round) {
    std::uint32_t seen;
#if defined(GP_TARGET_CUDA)
    if constexpr (kCompiledArch >= 900) {  // may sleep for a while before it says no
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(seen)
                   : "r"(address()), "r"(round & 1)
                   : "memory");
      return seen != 0;
    } else if constexpr (kAsyncCopies) {
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(seen)
                   : "r"(address()), "r"(round & 1)
                   : "memory");
      return seen != 0;
    }
    seen = *static_cast<volatile std::uint32_t*>(arrivals());
    __threadfence_block();
#elif defined(GP_TARGET_AMD)
    seen = __hip_atomic_load(arrivals(), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);
#else
    seen = __atomic_load_n(arrivals(), __ATOMIC_ACQUIRE);
#endif
    const std::uint32_t wanted = (round + 1) * std::uint32_t(state_ >> 32);
    return std::int32_t(seen - wanted) >= 0;
  }
};

// The last parameter of a kernel that may take its multiprocessors before the kernel ahead of it in the stream has
// ended (programmatic dependent launch: NVIDIA from sm_90 on; elsewhere kernels follow each other, and this does
// nothing). launch() sees it and allows that.
struct Overlap {
  // Until all kernels ahead have ended and what they wrote is visible. Every thread calls it before it touches global
  // memory; prefetch() may come first.
  GP_DEVICE void await_kernels_ahead() const {
#if defined(GP_TARGET_CUDA)
    if constexpr (kOverlaps) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  }

  // Lets the next kernel take the room that this one leaves, once every block has said so or has ended. A block takes
  // 1.2 ns of the device to say it (H200): not for blocks that do little.
  GP_DEVICE void admit_next_kernel() const {
#if defined(GP_TARGET_CUDA)
    if constexpr (kOverlaps) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  }

  // Asks for so many packs, the first at the address, to be in the L2 cache. Nothing is read: what a kernel ahead has
  // yet to write there goes through the same cache. By one thread.
  static GP_DEVICE void prefetch([[maybe_unused]] const void* first, [[maybe_unused]] index_t packs) {
#if defined(GP_TARGET_CUDA)
    if constexpr (kOverlaps) {
      if (packs <= 0) return;
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first), "r"(unsigned(packs * kVectorBytes))
                   : "memory");
    }
#endif
  }

 private:
  static constexpr bool kOverlaps = kCompiledArch >= 900;
};

#if defined(GP_TARGET_CUDA)
// Host: enqueues a kernel that has an Overlap and code that waits for the kernels ahead; see overlaps().
inline cudaError_t enqueue_overlapped(const void* kernel, dim3 blocks, dim3 threads, void** addresses,
                                      std::size_t shared_bytes, cudaStream_t stream, bool is_resident) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = is_resident ? 2 : 1;
  return cudaLaunchKernelExC(&config, kernel, addresses);
}
#endif

}  // namespace gp
