// An attribute that is read in every call.
#pragma once

#include <nanobind/nanobind.h>

namespace gpuport::launcher {

namespace nb = nanobind;

// The first type that it is read of decides: where that type has a getter in C for the name, this one calls it, and
// Python's search through the classes of the type, which takes longer than the getter itself, is done once.
class Attribute {
 public:
  explicit Attribute(const char* name) : name_(PyUnicode_InternFromString(name)) {}

  // Null, with an error set, where the object has no such attribute.
  nb::object operator()(PyObject* object) const {
    if (type_ == nullptr) find_getter(Py_TYPE(object));
    if (get_ != nullptr && Py_TYPE(object) == type_) return nb::steal(get_(object, closure_));
    return nb::steal(PyObject_GetAttr(object, name_));
  }

 private:
  void find_getter(PyTypeObject* type) const;

  PyObject* const name_;
  mutable PyTypeObject* type_ = nullptr;
  mutable getter get_ = nullptr;
  mutable void* closure_ = nullptr;
};

// False, without an error set, where the object is no such number.
bool to_number(const nb::object& object, long long& number);

}  // namespace gpuport::launcher
