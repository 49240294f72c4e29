// Arrays of PyTorch and CuPy, read through their attributes: a launch on a GPU takes microseconds, and asking the
// package about each argument would double that.
#pragma once

#include <string>
#include <unordered_map>

#include "parameters.hpp"

namespace gpuport::launcher {

// What is known of an array's memory. `bytes` is only told where a kernel takes whole structs.
struct Array {
  std::uintptr_t address;
  Element element;
  std::uint64_t bytes;
  bool readonly;
};

// Where the kernels of a module run, as far as their arguments are concerned.
struct Place {
  std::string backend;
  int device;
  // (array, words for the parameter) -> (address, kind, item size, bytes, read-only), for kinds of array that are not
  // read here; it raises what is to be said about one that does not fit.
  nb::object resolve;
  bool is_host() const { return backend == "cpu"; }
};

struct Library {
  PyTypeObject* type;
  std::string name;     // "torch" or "cupy"
  std::string backend;  // of its GPU arrays
  std::unordered_map<PyObject*, Element> dtypes;
  nb::object current_stream;  // device -> handle
};

// Told by the package when it first meets an array of that type.
void register_library(nb::handle type, std::string name, std::string backend, const nb::dict& dtypes,
                      nb::object current_stream);
// Null for a type that is none of them.
const Library* library_of(PyObject* value);

// False where the package has to look at it, and most likely to refuse it.
bool read_library_array(const Library& library, PyObject* value, const Place& place, bool with_bytes, Array& array);

}  // namespace gpuport::launcher
