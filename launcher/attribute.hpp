// An attribute that is read in every call.
#pragma once

#include <nanobind/nanobind.h>
#include <structmember.h>

namespace gpuport::launcher {

namespace nb = nanobind;

// The first type that it is read of decides: where that type has a getter in C or a slot for the name, it is read
// there, and Python's search through the classes of the type, which takes longer than the reading, is done once.
class Attribute {
 public:
  explicit Attribute(const char* name) : name_(PyUnicode_InternFromString(name)) {}

  // Null, with an error set, where the object has no such attribute.
  nb::object operator()(PyObject* object) const {
    if (type_ == nullptr) find(Py_TYPE(object));
    if (Py_TYPE(object) == type_) {
      if (get_ != nullptr) return nb::steal(get_(object, closure_));
      if (slot_ != nullptr) return nb::steal(PyMember_GetOne(reinterpret_cast<const char*>(object), slot_));
    }
    return nb::steal(PyObject_GetAttr(object, name_));
  }

 private:
  void find(PyTypeObject* type) const;

  PyObject* const name_;
  mutable PyTypeObject* type_ = nullptr;
  mutable getter get_ = nullptr;
  mutable void* closure_ = nullptr;
  mutable PyMemberDef* slot_ = nullptr;
};

// False, without an error set, where the object is no such number.
bool to_number(const nb::object& object, long long& number);

}  // namespace gpuport::launcher
