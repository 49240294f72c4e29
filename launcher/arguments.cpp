#include "arguments.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "identity_map.hpp"

namespace gpuport::launcher {

namespace {

struct Scalar {
  Element element;
  bool is_plain;  // the value stands behind the head of the object, as NumPy's binary interface has it
};

IdentityMap<Scalar>& scalars = *new IdentityMap<Scalar>;  // by their types

const unsigned char* bytes_of_scalar(PyObject* value) {
  return reinterpret_cast<const unsigned char*>(value) + sizeof(PyObject);
}

[[noreturn]] void fail_range(const Parameter& parameter, PyObject* value) {
  constexpr std::size_t kShown = 40;  // as many characters as a number of 128 bits has
  const nb::object shown = nb::steal(PyObject_Repr(value));
  std::string text;
  if (shown.is_valid())
    text = nb::str(shown).c_str();
  else
    PyErr_Clear();  // Python writes no number of more than 4300 digits
  if (text.empty() || text.size() > kShown)
    text = type_name(value) + " of more than " + std::to_string(kShown) + " digits";
  fail(PyExc_OverflowError, parameter, text + " does not fit");
}

[[noreturn]] void fail_type(const Parameter& parameter, PyObject* value, const char* wanted) {
  Element element;
  const std::string more = scalar_element(value, element) ? "; a NumPy scalar must be of the parameter's own type" : "";
  fail(PyExc_TypeError, parameter, type_name(value) + " given, " + wanted + " wanted" + more);
}

// Whether the value is a scalar of NumPy's that fits; other types of NumPy's are refused.
bool is_matching_scalar(const Parameter& parameter, PyObject* value, const char* wanted) {
  Element element;
  if (!scalar_element(value, element)) return false;
  if (element != parameter.value) fail_type(parameter, value, wanted);
  return true;
}

template <typename T>
void put(unsigned char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void put_integer(unsigned char* to, std::uint64_t bits, std::uint32_t size) { std::memcpy(to, &bits, size); }  // little

void store_integer(const Parameter& parameter, PyObject* value, unsigned char* to) {
  nb::object converted;
  if (!PyLong_CheckExact(value)) {
    if (is_matching_scalar(parameter, value, "an integer"))
      converted = nb::steal(PyNumber_Index(value));
    else if (!PyLong_Check(value))
      fail_type(parameter, value, "an integer");
    if (converted.is_valid()) value = converted.ptr();
  }
  const std::uint32_t bits = parameter.value.size * 8;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (parameter.value.kind == Kind::kSigned) {
    const long long least = std::numeric_limits<long long>::min() >> (64 - bits);
    if (overflow != 0 || number < least || number > ~least) fail_range(parameter, value);
    return put_integer(to, std::uint64_t(number), parameter.value.size);
  }
  if (overflow < 0 || (overflow == 0 && number < 0)) fail_range(parameter, value);
  std::uint64_t big = std::uint64_t(number);
  if (overflow > 0) {
    big = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      fail_range(parameter, value);
    }
  }
  if (bits < 64 && big >> bits != 0) fail_range(parameter, value);
  put_integer(to, big, parameter.value.size);
}

void store_bool(const Parameter& parameter, PyObject* value, unsigned char* to) {
  if (is_matching_scalar(parameter, value, "a bool")) {
    const int truth = PyObject_IsTrue(value);
    if (truth < 0) throw nb::python_error();
    return put<unsigned char>(to, truth != 0);
  }
  if (!PyLong_Check(value)) fail_type(parameter, value, "a bool");
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || number < 0 || number > 1) fail_range(parameter, value);
  put<unsigned char>(to, number != 0);
}

// A 16-bit float with that many bits of mantissa, rounded to nearest even. Gives false where a finite number is too
// large for it.
bool to_narrow_float(double value, int mantissa, std::uint16_t& bits) {
  const int bias = (1 << (14 - mantissa)) - 1;
  const std::uint16_t infinity = std::uint16_t(((1 << (15 - mantissa)) - 1) << mantissa);
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  std::uint32_t magnitude;
  if (std::isnan(value)) {
    magnitude = infinity | 1u << (mantissa - 1);
  } else if (std::isinf(value)) {
    magnitude = infinity;
  } else {
    const int exponent = std::max(size == 0 ? -bias : std::ilogb(size), 1 - bias);
    // With the implicit bit, which adds one to the exponent's field; a carry out of the mantissa does too.
    const auto scaled = std::uint64_t(std::nearbyint(std::ldexp(size, mantissa - exponent)));
    const std::uint64_t encoded = (std::uint64_t(exponent + bias - 1) << mantissa) + scaled;
    if (encoded >= infinity) return false;
    magnitude = std::uint32_t(encoded);
  }
  bits = std::uint16_t(sign | magnitude);
  return true;
}

void store_float(const Parameter& parameter, PyObject* value, unsigned char* to) {
  const bool is_plain = PyFloat_CheckExact(value) || PyLong_CheckExact(value);
  if (!is_plain && !is_matching_scalar(parameter, value, "a number") && !PyFloat_Check(value) && !PyLong_Check(value))
    fail_type(parameter, value, "a number");
  const double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw nb::python_error();
    PyErr_Clear();
    fail_range(parameter, value);
  }
  std::uint16_t bits = 0;
  switch (parameter.value.kind) {
    case Kind::kHalf:
    case Kind::kBfloat16:
      if (!to_narrow_float(number, parameter.value.kind == Kind::kHalf ? 10 : 7, bits)) fail_range(parameter, value);
      return put(to, bits);
    default:
      break;
  }
  if (parameter.value.size == sizeof(double)) return put(to, number);
  const float narrow = float(number);
  if (std::isinf(narrow) && !std::isinf(number)) fail_range(parameter, value);
  put(to, narrow);
}

void store_struct(const Parameter& parameter, PyObject* value, unsigned char* to) {
  const std::string wanted =
      "a structured or complex NumPy scalar, or a buffer, of " + std::to_string(parameter.value.size) + " bytes wanted";
  Element element;
  Py_buffer view;
  if (scalar_element(value, element) || !PyObject_CheckBuffer(value))
    fail(PyExc_TypeError, parameter, type_name(value) + " given, " + wanted);
  if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    fail(PyExc_TypeError, parameter, "a buffer that is not contiguous given, " + wanted);
  }
  const auto bytes = view.len;
  if (bytes == Py_ssize_t(parameter.value.size)) std::memcpy(to, view.buf, std::size_t(bytes));
  PyBuffer_Release(&view);
  if (bytes != Py_ssize_t(parameter.value.size))
    fail(PyExc_TypeError, parameter, std::to_string(bytes) + " bytes given, " + wanted);
}

}  // namespace

std::string type_name(PyObject* value) {
  if (PyFloat_CheckExact(value)) return "a float";
  if (PyLong_CheckExact(value)) return "an int";
  const nb::handle type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  const std::string module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  const std::string name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  return module == "builtins" ? name : module + "." + name;
}

std::string element_name(Element element) {
  const std::string bits = std::to_string(element.size * 8);
  switch (element.kind) {
    case Kind::kBool:
      return "bool";
    case Kind::kSigned:
      return "int" + bits;
    case Kind::kUnsigned:
      return "uint" + bits;
    case Kind::kFloat:
      return "float" + bits;
    case Kind::kHalf:
      return "float16";
    case Kind::kBfloat16:
      return "bfloat16";
    case Kind::kPointer:
      return "uint64 (addresses)";
    case Kind::kVoid:
      return "anything";
    case Kind::kChar:
      return "int8 or uint8";
    case Kind::kOther:
      break;
  }
  return "elements of " + std::to_string(element.size) + " bytes";
}

void register_scalar(nb::handle type, Kind kind, std::uint32_t size, nb::handle sample, const nb::bytes& bytes) {
  const bool is_plain = bytes.size() == size && std::memcmp(bytes.data(), bytes_of_scalar(sample.ptr()), size) == 0;
  scalars.add(type.ptr(), {{kind, size}, is_plain});
}

bool scalar_element(PyObject* value, Element& element) {
  const Scalar* const found = scalars.find(Py_TYPE(value));
  if (found == nullptr) return false;
  element = found->element;
  return true;
}

void store_value(const Parameter& parameter, PyObject* value, unsigned char* to) {
  if (!PyLong_CheckExact(value) && !PyFloat_CheckExact(value)) {
    const Scalar* const found = scalars.find(Py_TYPE(value));
    if (found != nullptr && found->is_plain && found->element == parameter.value) {
      std::memcpy(to, bytes_of_scalar(value), parameter.value.size);
      return;
    }
  }
  switch (parameter.value.kind) {
    case Kind::kSigned:
    case Kind::kUnsigned:
      return store_integer(parameter, value, to);
    case Kind::kBool:
      return store_bool(parameter, value, to);
    case Kind::kFloat:
    case Kind::kHalf:
    case Kind::kBfloat16:
      return store_float(parameter, value, to);
    default:
      return store_struct(parameter, value, to);
  }
}

}  // namespace gpuport::launcher
