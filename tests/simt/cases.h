// A case is a function with a name; main() runs the one that it is asked for on the device that it is asked for.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

inline std::map<std::string, void (*)()>& cases() {
  static std::map<std::string, void (*)()> all;
  return all;
}

struct Registered {
  Registered(const char* name, void (*run)()) { cases()[name] = run; }
};

#define CASE(name)                                        \
  void case_##name();                                     \
  const Registered registered_##name(#name, case_##name); \
  void case_##name()

inline int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}
inline int device_warp_size() { return attribute(cudaDevAttrWarpSize); }
inline int device_processors() { return attribute(cudaDevAttrMultiProcessorCount); }

inline void print_ints(const std::vector<int>& values) {
  for (int v : values) std::printf("%d ", v);
  std::printf("\n");
}

// The last launch's error by name, and all of its text.
inline void report_error() {
  const cudaError_t error = cudaGetLastError();
  std::printf("%s | %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
}

inline long resident_kib() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * 4;
}
// The most it has been. getrusage would not do: it keeps the peak of the process that started this one.
inline long peak_kib() {
  long kib = 0;
  char line[128];
  if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
    while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, "VmHWM: %ld", &kib) != 1) {
    }
    std::fclose(file);
  }
  return kib;
}
