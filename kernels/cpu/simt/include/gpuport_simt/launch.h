// What the translator writes: launches and shared objects.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "machine.h"

struct CUstream_st;

namespace gpuport::simt {

struct Config {
  dim3 grid, block;
  std::size_t shared;
  CUstream_st* stream;
  Config(dim3 grid, dim3 block, std::size_t shared = 0, CUstream_st* stream = nullptr)
      : grid(grid), block(block), shared(shared), stream(stream) {}
};

// A kernel with its arguments bound: `run` calls it once, for the current thread.
struct Request {
  const char* name;      // as the source wrote it
  const void* function;  // null where the call's arguments had to choose among several
  Config config;
  bool resident;  // every block must be able to run at once
  void (*run)(const void* bound);
  const void* bound;
};

// Runs the whole grid before it returns. The result is a cudaError_t, and becomes the thread's last error.
GPUPORT_SIMT_RUNTIME int launch(const Request& request);

template <typename Bound>
int launch_bound(const char* name, const void* function, const Config& config, bool resident, const Bound& bound) {
  return launch(
      {name, function, config, resident, [](const void* context) { (*static_cast<const Bound*>(context))(); }, &bound});
}

// The kernel is one function: its parameter types are known, and the arguments convert to them at the call. A call with
// fewer goes by the function's name, which knows its default arguments.
template <typename Call, typename... Parameters>
struct FunctionLaunch {
  const char* name;
  void (*function)(Parameters...);
  Config config;
  Call call;
  void operator()(Parameters... arguments) const {
    // The kernel's own parameters are the copy that each thread gets.
    launch_bound(name, reinterpret_cast<const void*>(function), config, false, [&] { function(arguments...); });
  }
  template <typename... Arguments>
    requires(sizeof...(Arguments) < sizeof...(Parameters))
  void operator()(const Arguments&... arguments) const {
    bind(std::index_sequence_for<Arguments...>{}, arguments...);
  }

 private:
  template <std::size_t... kIndices, typename... Arguments>
  void bind(std::index_sequence<kIndices...>, const Arguments&... arguments) const {
    [this](std::tuple_element_t<kIndices, std::tuple<Parameters...>>... values) {
      launch_bound(name, reinterpret_cast<const void*>(function), config, false, [&] { call(values...); });
    }(arguments...);
  }
};

// The kernel is a set of functions or a template: the arguments choose.
template <typename Call>
struct CallLaunch {
  const char* name;
  Call call;
  Config config;
  template <typename... Arguments>
  void operator()(const Arguments&... arguments) const {
    bind<std::decay_t<const Arguments&>...>(arguments...);
  }

 private:
  template <typename... Values>
  void bind(Values... values) const {
    launch_bound(name, nullptr, config, false, [&] { call(values...); });
  }
};

template <typename Call, typename... Parameters>
FunctionLaunch<Call, Parameters...> one_function(void (*function)(Parameters...), const char* name,
                                                 const Config& config, const Call& call, int) {
  return {name, function, config, call};
}

}  // namespace gpuport::simt

#define GPUPORT_SIMT_UNWRAP(...) __VA_ARGS__

// GPUPORT_SIMT_LAUNCH((kernel<T, 2>), grid, block[, shared[, stream]])(arguments...). The tag makes the question "is
// this one function?" dependent, so that an overload set answers no instead of being an error.
#define GPUPORT_SIMT_LAUNCH(kernel, ...)                                                               \
  [&](auto gpuport_simt_tag, const ::gpuport::simt::Config& gpuport_simt_config) {                     \
    auto gpuport_simt_call = [&](auto&... gpuport_simt_arguments) {                                    \
      GPUPORT_SIMT_UNWRAP kernel(gpuport_simt_arguments...);                                           \
    };                                                                                                 \
    if constexpr (requires {                                                                           \
                    ::gpuport::simt::one_function(GPUPORT_SIMT_UNWRAP kernel, "", gpuport_simt_config, \
                                                  gpuport_simt_call, gpuport_simt_tag);                \
                  }) {                                                                                 \
      return ::gpuport::simt::one_function(GPUPORT_SIMT_UNWRAP kernel, #kernel, gpuport_simt_config,   \
                                           gpuport_simt_call, gpuport_simt_tag);                       \
    } else {                                                                                           \
      return ::gpuport::simt::CallLaunch<decltype(gpuport_simt_call)>{#kernel, gpuport_simt_call,      \
                                                                      gpuport_simt_config};            \
    }                                                                                                  \
  }(0, ::gpuport::simt::Config(__VA_ARGS__))

// The body of a loop that has none: it waits for another thread. Where a compiler computes the loop, nobody does.
#define GPUPORT_SIMT_SPIN() ::gpuport::simt::spin(::gpuport::simt::Site::here())

// A reference to the block's object of that type. The tag's address is the object's name: every function, and every
// instantiation of a template, has its own.
#define GPUPORT_SIMT_SHARED_ALIGNED(bytes, name, ...)                                                       \
  static char gpuport_simt_tag_##name;                                                                      \
  ::std::type_identity_t<__VA_ARGS__>& name = *static_cast<::std::type_identity_t<__VA_ARGS__>*>(           \
      ::gpuport::simt::shared_object(&gpuport_simt_tag_##name, sizeof(::std::type_identity_t<__VA_ARGS__>), \
                                     ::gpuport::simt::alignment_of<__VA_ARGS__>(bytes), #name))
#define GPUPORT_SIMT_SHARED(name, ...) GPUPORT_SIMT_SHARED_ALIGNED(1, name, __VA_ARGS__)

// A pointer to the block's dynamic shared memory, the same for every name.
#define GPUPORT_SIMT_DYNAMIC_SHARED_ALIGNED(bytes, name, ...)                                          \
  ::std::type_identity_t<__VA_ARGS__>* const name = static_cast<::std::type_identity_t<__VA_ARGS__>*>( \
      ::gpuport::simt::dynamic_shared(::gpuport::simt::alignment_of<__VA_ARGS__>(bytes)))
#define GPUPORT_SIMT_DYNAMIC_SHARED(name, ...) GPUPORT_SIMT_DYNAMIC_SHARED_ALIGNED(1, name, __VA_ARGS__)

// The same, declared outside of functions: an object that becomes the pointer of the block that uses it.
#define GPUPORT_SIMT_OUTER_DYNAMIC_SHARED_ALIGNED(bytes, name, ...) \
  [[maybe_unused]] static constexpr ::gpuport::simt::OuterDynamicShared<__VA_ARGS__, (bytes)> name {}
#define GPUPORT_SIMT_OUTER_DYNAMIC_SHARED(name, ...) GPUPORT_SIMT_OUTER_DYNAMIC_SHARED_ALIGNED(1, name, __VA_ARGS__)

// A static object declared outside of functions. It has to be an ordinary lvalue of its type wherever it is named, so
// it is a variable of the OS thread, which holds what belongs to the block that the thread runs.
#define GPUPORT_SIMT_OUTER_SHARED_ALIGNED(bytes, name, ...)                                                        \
  [[maybe_unused]] alignas(                                                                                        \
      ::gpuport::simt::alignment_of<__VA_ARGS__>(bytes)) static __thread ::std::type_identity_t<__VA_ARGS__> name; \
  static const ::gpuport::simt::OuterShared gpuport_simt_outer_##name {                                            \
    +[]() -> void* { return const_cast<void*>(static_cast<const volatile void*>(&name)); }, sizeof(name)           \
  }
#define GPUPORT_SIMT_OUTER_SHARED(name, ...) GPUPORT_SIMT_OUTER_SHARED_ALIGNED(1, name, __VA_ARGS__)

namespace gpuport::simt {
constexpr void spin(Site site) {
  if (!std::is_constant_evaluated()) note_poll(site);
}

// Known to the machine as long as the binary that has it is loaded.
struct OuterShared {
  void* (*address)();  // on the calling OS thread
  std::size_t bytes;
  GPUPORT_SIMT_RUNTIME OuterShared(void* (*address)(), std::size_t bytes);
  GPUPORT_SIMT_RUNTIME ~OuterShared();
  OuterShared(const OuterShared&) = delete;
  OuterShared& operator=(const OuterShared&) = delete;
};

template <typename T>
constexpr std::size_t alignment_of(std::size_t asked) {
  return asked > alignof(T) ? asked : alignof(T);
}

template <typename T, std::size_t kAlignment>
struct OuterDynamicShared {
  operator T*() const { return static_cast<T*>(dynamic_shared(alignment_of<T>(kAlignment))); }
  template <typename U>
  explicit operator U*() const {
    return reinterpret_cast<U*>(static_cast<T*>(*this));
  }
  T* operator+() const { return *this; }
};
}  // namespace gpuport::simt
