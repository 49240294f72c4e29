// A kernel that can be called: its parameters, and the backend's launch function.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "parameters.hpp"

namespace gpuport::launcher {

// cuLaunchKernel, hipModuleLaunchKernel and gpuport_simt_launch, and the cooperative forms without the last argument.
using LaunchFunction = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                               void**, void**);
using CooperativeFunction = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                                    void**);

// What a backend's device is made current with: by its number, or for CUDA's driver by its context.
struct Current {
  std::uintptr_t get = 0, set = 0;
  std::uintptr_t value = 0;
  bool is_context = false;
};

// One device of one backend: its functions, and what only the package can do.
struct Target {
  LaunchFunction launch;
  CooperativeFunction launch_cooperative;
  Current current;
  Place place;
  nb::object stream;    // (stream or None, arguments) -> handle
  nb::object on_error;  // (kernel's name, code, grid, block) -> raises
};

// Null: not given.
struct CallOptions {
  PyObject *arguments = nullptr, *shared_mem = nullptr, *stream = nullptr;
  bool cooperative = false;
};

class Kernel {
 public:
  using Record = std::tuple<std::string, std::string, int, std::uint32_t, std::uint32_t, int, std::uint32_t, bool>;

  Kernel(std::string name, std::uintptr_t function, const std::vector<Record>& parameters,
         std::shared_ptr<Target> target);
  void launch(PyObject* grid, PyObject* block, const CallOptions& options) const;

  // Raises what a call with these arguments would raise.
  void check(nb::handle arguments) const;

  const std::string& name() const { return name_; }
  std::uintptr_t function() const { return function_; }

 private:
  Origin store(PyObject* arguments, unsigned char* storage, void** addresses, Holds& holds) const;
  void* stream_of(PyObject* stream, PyObject* arguments, const Origin& origin) const;

  std::string name_;
  std::uintptr_t function_;
  std::vector<Parameter> parameters_;
  std::size_t bytes_ = 0;
  std::shared_ptr<Target> target_;
};

}  // namespace gpuport::launcher
