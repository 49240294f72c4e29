// An array argument: its address, once it has been seen to be what the pointer parameter points to.
#pragma once

#include <forward_list>

#include "libraries.hpp"
#include "parameters.hpp"

namespace gpuport::launcher {

// Buffers that were asked for: they are given back when the launch is done.
class Holds {
 public:
  Holds() = default;
  ~Holds() {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
  }
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;
  // Null, with an error set, where the object gives none.
  const Py_buffer* acquire(PyObject* object, int flags) {
    Py_buffer& view = views_.emplace_front();
    if (PyObject_GetBuffer(object, &view, flags) == 0) return &view;
    views_.pop_front();
    return nullptr;
  }

 private:
  std::forward_list<Py_buffer> views_;
};

// NumPy's class, its dtypes with their kinds and sizes, and arrays of those dtypes to learn from.
void register_numpy(nb::handle ndarray, const nb::dict& dtypes, const nb::list& samples);
bool is_numpy(PyObject* value);
// False, perhaps with an error set, where the package has to look at it. An array that the host's kernels cannot take
// is refused here.
bool read_numpy(const Parameter& parameter, PyObject* value, Holds& holds, Array& array);

// What a call's arrays say about its stream.
struct Origin {
  const Library* library = nullptr;  // of the first array whose library has streams
  bool is_known = true;              // no array was left to the package
};

void store_pointer(const Parameter& parameter, PyObject* value, const Place& place, Holds& holds, unsigned char* to,
                   Origin& origin);

}  // namespace gpuport::launcher
