// Arrays of PyTorch, of CuPy and our own, read where they are: a launch on a GPU takes microseconds, and asking the
// package about each argument would double that.
#pragma once

#include <memory>
#include <string>

#include "attribute.hpp"
#include "identity_map.hpp"
#include "parameters.hpp"

namespace gpuport::launcher {

enum class Backend : std::uint8_t { kCpu, kCuda, kHip };
Backend backend_named(const std::string& name);

// What is known of an array's memory. `bytes` is only told where a kernel takes whole structs.
struct Array {
  std::uintptr_t address;
  Element element;
  std::uint64_t bytes;
  bool readonly;
};

// Where the kernels of a module run, as far as their arguments are concerned.
struct Place {
  Backend backend;
  int device;
  // (array, words for the parameter) -> (address, kind, item size, bytes, read-only), for kinds of array that are not
  // read here; it raises what is to be said about one that does not fit.
  nb::object resolve;
  bool is_host() const { return backend == Backend::kCpu; }
};

// By identity: another object that is equal to a dtype is not found.
using Dtypes = IdentityMap<Element>;
Dtypes dtypes_of(const nb::dict& elements);  // dtype -> (kind, size)

// Reads C-contiguous arrays of one exact type. Nothing is kept of an array from one call to the next.
class Library {
 public:
  virtual ~Library() = default;
  // False, perhaps with an error set, where the package has to look at the array, and most likely to refuse it.
  virtual bool read(PyObject* value, const Place& place, bool with_bytes, Array& array) const = 0;
  virtual bool has_streams() const = 0;
  // The handle of its current stream on that device.
  virtual std::uintptr_t current_stream(const Place& place) const = 0;
};

std::unique_ptr<Library> make_torch(nb::handle type, Backend backend, Dtypes dtypes, nb::object current_stream);
std::unique_ptr<Library> make_cupy(Backend backend, Dtypes dtypes, nb::object current_stream, nb::handle c_stream);
std::unique_ptr<Library> make_device_arrays(const nb::dict& elements);  // a dtype's name -> (kind, size)

// Told by the package when it first meets an array of that type. `name` is "torch" or "cupy", `current_stream` gives
// the handle of a device's; `c_stream` is None or a capsule of a C function that does so.
void register_library(nb::handle type, const std::string& name, const std::string& backend, const nb::dict& dtypes,
                      nb::object current_stream, nb::handle c_stream);
void register_device_array(nb::handle type, const nb::dict& elements);

// Null for a type that is none of them.
const Library* library_of(PyObject* value);

}  // namespace gpuport::launcher
