// Kernels of a module that is loaded at run time: what it exports of each, and how the host launches it. The launch has
// the signature of cuLaunchKernel and hipModuleLaunchKernel, so that one launcher serves all three.
#pragma once

#include "launch.h"

namespace gpuport::simt {

struct Entry {
  const char* name;
  const void* function;
  void (*call)(void* const* parameters);  // for the current thread; each address holds one parameter
};

struct Global {
  const volatile void* address;
  std::size_t bytes;
};

template <auto kKernel, typename... Parameters, std::size_t... kIndices>
void call_with(void (*)(Parameters...), void* const* parameters, std::index_sequence<kIndices...>) {
  // The kernel's own parameters are the copy that each thread gets.
  kKernel(*static_cast<std::remove_cvref_t<Parameters>*>(parameters[kIndices])...);
}
template <typename... Parameters>
std::index_sequence_for<Parameters...> indices_of(void (*)(Parameters...));

template <auto kKernel>
void call_kernel(void* const* parameters) {
  call_with<kKernel>(kKernel, parameters, decltype(indices_of(kKernel)){});
}

}  // namespace gpuport::simt

extern "C" {
GPUPORT_SIMT_RUNTIME int gpuport_simt_launch(const gpuport::simt::Entry* entry, unsigned grid_x, unsigned grid_y,
                                             unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                             unsigned shared, CUstream_st* stream, void** parameters, void** extra);
GPUPORT_SIMT_RUNTIME int gpuport_simt_launch_cooperative(const gpuport::simt::Entry* entry, unsigned grid_x,
                                                         unsigned grid_y, unsigned grid_z, unsigned block_x,
                                                         unsigned block_y, unsigned block_z, unsigned shared,
                                                         CUstream_st* stream, void** parameters);
GPUPORT_SIMT_RUNTIME int gpuport_simt_entry_limits(const gpuport::simt::Entry* entry, int* threads, int* shared);
GPUPORT_SIMT_RUNTIME int gpuport_simt_entry_allow_shared(const gpuport::simt::Entry* entry, int bytes);
GPUPORT_SIMT_RUNTIME int gpuport_simt_entry_occupancy(const gpuport::simt::Entry* entry, int* blocks, int threads,
                                                      std::size_t shared);
}

// These two stand behind the source, so they are spelled with names that no macro of a source has.
using gpuport_simt_entry_type = gpuport::simt::Entry;
using gpuport_simt_global_type = gpuport::simt::Global;
template <auto kKernel>
void gpuport_simt_call(void* const* parameters) {
  gpuport::simt::call_kernel<kKernel>(parameters);
}

#define GPUPORT_SIMT_ENTRY(number, text, ...)                                                                 \
  extern "C" {                                                                                                \
  extern const ::gpuport_simt_entry_type gpuport_entry_##number __attribute__((visibility("default")));       \
  const ::gpuport_simt_entry_type gpuport_entry_##number{text, reinterpret_cast<const void*>(+(__VA_ARGS__)), \
                                                         &::gpuport_simt_call<+(__VA_ARGS__)>};               \
  }

#define GPUPORT_SIMT_GLOBAL(number, variable)                                                             \
  extern "C" {                                                                                            \
  extern const ::gpuport_simt_global_type gpuport_global_##number __attribute__((visibility("default"))); \
  const ::gpuport_simt_global_type gpuport_global_##number{&variable, sizeof(variable)};                  \
  }
