// What a kernel takes, and the words for an argument that does not fit.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gpuport::launcher {

namespace nb = nanobind;

// The numbers of python/gpuport/loading/reflect.h.
enum class Kind : std::uint8_t {
  kOther,
  kBool,
  kSigned,
  kUnsigned,
  kFloat,
  kHalf,
  kBfloat16,
  kPointer,
  kVoid,
  kChar  // plain char, behind a pointer
};

struct Element {
  Kind kind;
  std::uint32_t size;
  bool operator==(const Element&) const = default;
};

struct Parameter {
  std::string name, type;  // as the source writes them
  Element value;
  Element pointee;       // of a pointer
  bool readonly;         // a pointer to const
  std::uint32_t offset;  // into the storage of a call
  std::string where;     // "saxpy: parameter 2, x (const float*)"
};

[[noreturn]] inline void fail(PyObject* error, const Parameter& parameter, const std::string& why) {
  PyErr_SetString(error, (parameter.where + ": " + why).c_str());
  throw nb::python_error();
}

// "numpy.float64", "a float".
std::string type_name(PyObject* value);

// The element that a dtype's number is of, for arrays and for NumPy's scalars.
std::string element_name(Element element);

}  // namespace gpuport::launcher
