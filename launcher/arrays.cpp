#include "arrays.hpp"

#include <cstring>

#include "arguments.hpp"

namespace gpuport::launcher {

namespace {

PyTypeObject* ndarray = nullptr;

// NumPy writes one letter for a plain dtype, in the machine's byte order; others go through the package.
bool element_of_format(const char* format, Py_ssize_t item, Element& element) {
  const auto size = std::uint32_t(item);
  if (format == nullptr) return false;
  switch (format[0]) {
    case '?':
      return element = {Kind::kBool, size}, format[1] == 0;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return element = {Kind::kSigned, size}, format[1] == 0;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return element = {Kind::kUnsigned, size}, format[1] == 0;
    case 'e':
      return element = {Kind::kHalf, size}, format[1] == 0;
    case 'f':
    case 'd':
      return element = {Kind::kFloat, size}, format[1] == 0;
    case 'T':  // a structured dtype
    case 'Z':  // a complex one
      return element = {Kind::kOther, size}, true;
    default:
      return false;
  }
}

bool is_contiguous(const Py_buffer& view) {
  Py_ssize_t step = view.itemsize;
  for (int d = view.ndim; d-- > 0;) {
    if (view.shape[d] == 0) return true;
    if (view.shape[d] != 1 && view.strides[d] != step) return false;
    step *= view.shape[d];
  }
  return true;
}

// False where the package has to look at it.
bool read_numpy(const Parameter& parameter, PyObject* value, const Place& place, Hold& hold, Array& array) {
  if (!place.is_host()) return false;
  const Py_buffer* const view = hold.acquire(value, PyBUF_RECORDS_RO);
  if (view == nullptr) {
    PyErr_Clear();
    return false;
  }
  if (!element_of_format(view->format, view->itemsize, array.element)) return false;
  if (!is_contiguous(*view))
    fail(PyExc_TypeError, parameter, "the array is not C-contiguous; numpy.ascontiguousarray makes a copy that is");
  array.address = reinterpret_cast<std::uintptr_t>(view->buf);
  array.bytes = std::uint64_t(view->len);
  array.readonly = view->readonly != 0;
  return true;
}

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
      return array.element.size == wanted.size &&
             (array.element.kind == Kind::kUnsigned || array.element.kind == Kind::kSigned);
    default:
      return array.element == wanted;
  }
}

}  // namespace

void register_array_type(nb::handle numpy_ndarray) {
  numpy_ndarray.inc_ref();
  ndarray = reinterpret_cast<PyTypeObject*>(numpy_ndarray.ptr());
}

namespace {

bool read_known(const Parameter& parameter, PyObject* value, const Place& place, Hold& hold, const Library*& library,
                Array& array) {
  if (Py_TYPE(value) == ndarray) return read_numpy(parameter, value, place, hold, array);
  const Library* const own = library_of(value);
  if (own == nullptr) return false;
  if (library == nullptr) library = own;
  return read_library_array(*own, value, place, parameter.pointee.kind == Kind::kOther, array);
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

void store_pointer(const Parameter& parameter, PyObject* value, const Place& place, Hold& hold, unsigned char* to,
                   const Library*& library) {
  Array array{0, {Kind::kVoid, 0}, 0, false};
  const auto put = [&] { std::memcpy(to, &array.address, sizeof array.address); };
  if (value == Py_None) return put();
  if (!read_known(parameter, value, place, hold, library, array)) {
    if (read_address(value, array.address)) return put();
    Element scalar;
    if (PyLong_Check(value) || PyFloat_Check(value) || scalar_element(value, scalar))
      fail(PyExc_TypeError, parameter,
           type_name(value) + " given, an array wanted (a bare address goes in as numpy.uintp)");
    array = read_other(parameter, value, place);
    if (library == nullptr) library = library_of(value);
  }
  if (!is_fit(parameter, array))
    fail(PyExc_TypeError, parameter,
         "an array of " + element_name(array.element) + " given, " + element_name(parameter.pointee) + " wanted");
  if (array.readonly && !parameter.readonly)
    fail(PyExc_TypeError, parameter, "the array is read-only, and the parameter does not point to const");
  put();
}

}  // namespace gpuport::launcher
