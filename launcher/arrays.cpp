#include "arrays.hpp"

#include <cstring>

#include "arguments.hpp"

namespace gpuport::launcher {

namespace {

Array read_other(const Parameter& parameter, PyObject* value, const Place& place) {
  const nb::tuple found = nb::cast<nb::tuple>(place.resolve(nb::handle(value), parameter.where));
  return {nb::cast<std::uintptr_t>(found[0]),
          {Kind(nb::cast<int>(found[1])), nb::cast<std::uint32_t>(found[2])},
          nb::cast<std::uint64_t>(found[3]),
          nb::cast<bool>(found[4])};
}

bool is_fit(const Parameter& parameter, const Array& array) {
  const Element wanted = parameter.pointee;
  switch (wanted.kind) {
    case Kind::kVoid:
      return true;
    case Kind::kOther:  // whole structs, whatever the array calls their members
      return wanted.size == 0 || array.bytes % wanted.size == 0;
    case Kind::kPointer:
    case Kind::kChar:  // addresses, and bytes, of whichever sign the array calls them
      return array.element.size == wanted.size &&
             (array.element.kind == Kind::kUnsigned || array.element.kind == Kind::kSigned);
    default:
      return array.element == wanted;
  }
}

bool read_known(const Parameter& parameter, PyObject* value, const Place& place, Holds& holds, Origin& origin,
                Array& array) {
  if (is_numpy(value)) return place.is_host() && read_numpy(parameter, value, holds, array);
  const Library* const library = library_of(value);
  if (library == nullptr) return false;
  if (origin.library == nullptr && library->has_streams()) origin.library = library;
  return library->read(value, place, parameter.pointee.kind == Kind::kOther, array);
}

// An address that the caller vouches for.
bool read_address(PyObject* value, std::uintptr_t& address) {
  Element scalar;
  if (!scalar_element(value, scalar) || scalar != Element{Kind::kUnsigned, sizeof(void*)}) return false;
  const nb::object number = nb::steal(PyNumber_Index(value));
  address = number.is_valid() ? PyLong_AsSize_t(number.ptr()) : 0;
  if (PyErr_Occurred()) throw nb::python_error();
  return true;
}

}  // namespace

void store_pointer(const Parameter& parameter, PyObject* value, const Place& place, Holds& holds, unsigned char* to,
                   Origin& origin) {
  Array array{0, {Kind::kVoid, 0}, 0, false};
  const auto put = [&] { std::memcpy(to, &array.address, sizeof array.address); };
  if (value == Py_None) return put();
  if (!read_known(parameter, value, place, holds, origin, array)) {
    PyErr_Clear();
    if (read_address(value, array.address)) return put();
    Element scalar;
    if (PyLong_Check(value) || PyFloat_Check(value) || scalar_element(value, scalar))
      fail(PyExc_TypeError, parameter,
           type_name(value) + " given, an array wanted (a bare address goes in as numpy.uintp)");
    array = read_other(parameter, value, place);
    origin.is_known = false;
    const Library* const library = library_of(value);  // by now the package may have told
    if (origin.library == nullptr && library != nullptr && library->has_streams()) origin.library = library;
  }
  if (!is_fit(parameter, array))
    fail(PyExc_TypeError, parameter,
         "an array of " + element_name(array.element) + " given, " + element_name(parameter.pointee) + " wanted");
  if (array.readonly && !parameter.readonly)
    fail(PyExc_TypeError, parameter, "the array is read-only, and the parameter does not point to const");
  put();
}

}  // namespace gpuport::launcher
