// An array argument: its address, once it has been seen to be what the pointer parameter points to.
#pragma once

#include "libraries.hpp"
#include "parameters.hpp"

namespace gpuport::launcher {

void register_array_type(nb::handle numpy_ndarray);

// Keeps the memory behind a pointer argument in place until the launch is done.
class Hold {
 public:
  Hold() = default;
  ~Hold() {
    if (held_) PyBuffer_Release(&view_);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  Py_buffer* acquire(PyObject* object, int flags) {
    held_ = PyObject_GetBuffer(object, &view_, flags) == 0;
    return held_ ? &view_ : nullptr;
  }

 private:
  Py_buffer view_;
  bool held_ = false;
};

// `library` becomes that of the first array whose library has streams.
void store_pointer(const Parameter& parameter, PyObject* value, const Place& place, Hold& hold, unsigned char* to,
                   const Library*& library);

}  // namespace gpuport::launcher
