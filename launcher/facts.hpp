// An array as a repeated call sees it: its layout, for the key, and where it is now. Arrays of PyTorch, CuPy and NumPy
// and our own, of exactly their types: a subclass may mean anything by its attributes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <limits>

#include "key.hpp"

namespace gpuport::launcher {

namespace nb = nanobind;

struct Facts {
  std::uintptr_t address = 0;
  std::int64_t room = std::numeric_limits<std::int64_t>::max();  // bytes from the address to the end of its memory
  std::int32_t device = 0;
  bool is_host = false;
};

// One library's arrays.
class ArrayReader {
 public:
  virtual ~ArrayReader() = default;
  // Adds the layout to the key. False for an array that no plan can take, maybe with Python's error set.
  virtual bool read(PyObject* array, Facts& facts, Key& key) const = 0;
  // The stream that the library would use now. False where it cannot say, maybe with Python's error set.
  virtual bool current_stream(const Facts& facts, void*& stream) const = 0;
  // Tells the library that an array was written; false with Python's error set.
  virtual bool written(PyObject*) const { return true; }
};

// Told by the package when it first meets an array of the type; a later call replaces the reader. `table` is the type's
// DLPack table or None, `samples` are some tensors or None. `stream` gives what stands for the current stream of a
// device; `c_stream` is None or a capsule of a C function that does so.
void replay_torch(nb::type_object type, nb::handle table, nb::object stream, nb::object increment_version,
                  nb::handle samples);
void replay_cupy(nb::type_object type, nb::object stream, nb::handle c_stream);
void replay_numpy(nb::type_object type);
void replay_device_array(nb::type_object type);

// Null for a type that is none of them. A reader lives as long as the process.
const ArrayReader* reader_of(PyTypeObject* type);

}  // namespace gpuport::launcher
