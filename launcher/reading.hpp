// What the readers of arrays have in common.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "facts.hpp"
#include "key.hpp"

namespace gpuport::launcher {

inline nb::object call(PyObject* function, PyObject* argument) {
  return nb::steal(PyObject_Vectorcall(function, &argument, 1, nullptr));
}

inline nb::object call_method(PyObject* object, PyObject* name) {
  return nb::steal(PyObject_VectorcallMethod(name, &object, 1, nullptr));
}

// A method of the type, found once: calling it costs less than looking it up.
class Method {
 public:
  Method(nb::handle type, const char* name) : function_(nb::object(type.attr(name)).release().ptr()) {}
  nb::object operator()(PyObject* self) const { return call(function_, self); }

 private:
  PyObject* function_;
};

inline bool add_numbers(const nb::object& tuple, Key& key) {
  if (!tuple.is_valid() || !PyTuple_Check(tuple.ptr())) return false;
  const Py_ssize_t count = PyTuple_Size(tuple.ptr());
  key.add(std::uint64_t(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const long long number = PyLong_AsLongLong(PyTuple_GetItem(tuple.ptr(), i));
    if (number == -1 && PyErr_Occurred()) return false;
    key.add(std::uint64_t(number));
  }
  return true;
}

// Where the array is, as far as a kernel's choice of code depends on it: the device, and the place within 16 bytes.
inline void add_place(const Facts& facts, Key& key) {
  key.add(std::uint64_t(facts.is_host) << 63 | std::uint64_t(std::uint32_t(facts.device)) << 8 | (facts.address & 15));
}

// The reader for arrays of the type. Neither is freed: calls in other threads may be using them.
void set_reader(nb::type_object type, const ArrayReader* reader);

}  // namespace gpuport::launcher
