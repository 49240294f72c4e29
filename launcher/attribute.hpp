// An attribute that is read in every call.
#pragma once

#include <nanobind/nanobind.h>

namespace gpuport::launcher {

namespace nb = nanobind;

// The first type that it is read of decides: where that type has a getter in C for the name, or is a named tuple with
// such a field, it is read there, and Python's search through the classes of the type, which takes longer than the
// reading, is done once.
class Attribute {
 public:
  explicit Attribute(const char* name) : name_(PyUnicode_InternFromString(name)) {}

  // Null, with an error set, where the object has no such attribute.
  nb::object operator()(PyObject* object) const {
    if (type_ == nullptr) find(Py_TYPE(object));
    if (Py_TYPE(object) == type_) {
      if (get_ != nullptr) return nb::steal(get_(object, closure_));
      if (field_ >= 0) return nb::borrow(PyTuple_GetItem(object, field_));
    }
    return nb::steal(PyObject_GetAttr(object, name_));
  }

 private:
  void find(PyTypeObject* type) const;

  PyObject* const name_;
  mutable PyTypeObject* type_ = nullptr;
  mutable getter get_ = nullptr;
  mutable void* closure_ = nullptr;
  mutable Py_ssize_t field_ = -1;
};

// False, without an error set, where the object is no such number.
inline bool to_number(const nb::object& object, long long& number) {
  if (!object.is_valid()) return false;
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  return overflow == 0 && !(number == -1 && PyErr_Occurred());
}

}  // namespace gpuport::launcher
