// NumPy's arrays. Their head is part of NumPy's binary interface (every extension module that uses NumPy reads it by
// macros), and reading it takes a tenth of what asking for a buffer does, for which NumPy spells the dtype as text.
#include <utility>

#include "arrays.hpp"

namespace gpuport::launcher {

namespace {

struct ArrayHead {
  PyObject head;
  char* data;
  int ndim;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;
};
constexpr int kContiguous = 0x1, kWriteable = 0x400;

PyTypeObject* ndarray = nullptr;
Dtypes& dtypes = *new Dtypes;  // none where the heads are not as above

const ArrayHead& head_of(PyObject* array) { return *reinterpret_cast<const ArrayHead*>(array); }

bool is_contiguous(const Py_buffer& view) {
  Py_ssize_t step = view.itemsize;
  for (int d = view.ndim; d-- > 0;) {
    if (view.shape[d] == 0) return true;
    if (view.shape[d] != 1 && view.strides[d] != step) return false;
    step *= view.shape[d];
  }
  return true;
}

// Whether the head tells the same as the buffer.
bool is_as_expected(PyObject* sample, const Dtypes& known) {
  Holds holds;
  const Py_buffer* const view = holds.acquire(sample, PyBUF_RECORDS_RO);
  if (view == nullptr) throw nb::python_error();
  const ArrayHead& head = head_of(sample);
  const Element* const element = known.find(head.dtype);
  bool is_same = head.data == view->buf && head.ndim == view->ndim && element != nullptr &&
                 Py_ssize_t(element->size) == view->itemsize;
  is_same = is_same && bool(head.flags & kContiguous) == is_contiguous(*view) &&
            bool(head.flags & kWriteable) == !view->readonly;
  for (int d = 0; is_same && d < head.ndim; ++d)
    is_same = head.shape[d] == view->shape[d] && head.strides[d] == view->strides[d];
  return is_same;
}

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

[[noreturn]] void fail_strides(const Parameter& parameter) {
  fail(PyExc_TypeError, parameter, "the array is not C-contiguous; numpy.ascontiguousarray makes a copy that is");
}

}  // namespace

void register_numpy(nb::handle type, const nb::dict& elements, const nb::list& samples) {
  type.inc_ref();
  ndarray = reinterpret_cast<PyTypeObject*>(type.ptr());
  Dtypes known = dtypes_of(elements);
  for (const nb::handle sample : samples)
    if (!is_as_expected(sample.ptr(), known)) return;
  dtypes = std::move(known);
}

bool is_numpy(PyObject* value) { return Py_TYPE(value) == ndarray; }

bool read_numpy(const Parameter& parameter, PyObject* value, Holds& holds, Array& array) {
  const ArrayHead& head = head_of(value);
  if (const Element* const element = dtypes.find(head.dtype)) {
    if ((head.flags & kContiguous) == 0) fail_strides(parameter);
    array.element = *element;
    array.address = reinterpret_cast<std::uintptr_t>(head.data);
    array.bytes = element->size;
    for (int d = 0; d < head.ndim; ++d) array.bytes *= std::uint64_t(head.shape[d]);
    array.readonly = (head.flags & kWriteable) == 0;
    return true;
  }
  const Py_buffer* const view = holds.acquire(value, PyBUF_RECORDS_RO);
  if (view == nullptr || !element_of_format(view->format, view->itemsize, array.element)) return false;
  if (!is_contiguous(*view)) fail_strides(parameter);
  array.address = reinterpret_cast<std::uintptr_t>(view->buf);
  array.bytes = std::uint64_t(view->len);
  array.readonly = view->readonly != 0;
  return true;
}

}  // namespace gpuport::launcher
