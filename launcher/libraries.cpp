#include "libraries.hpp"

#include <memory>

namespace gpuport::launcher {

namespace {

// Never freed: kernels may outlive the interpreter's last collection.
std::vector<std::unique_ptr<Library>>& libraries() {
  static auto& known = *new std::vector<std::unique_ptr<Library>>;
  return known;
}

struct Names {
  PyObject* get_device = PyUnicode_InternFromString("get_device");
  PyObject* is_contiguous = PyUnicode_InternFromString("is_contiguous");
  PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
  PyObject* data_ptr = PyUnicode_InternFromString("data_ptr");
  PyObject* numel = PyUnicode_InternFromString("numel");
  PyObject* dtype = PyUnicode_InternFromString("dtype");
  PyObject* c_contiguous = PyUnicode_InternFromString("_c_contiguous");
  PyObject* data = PyUnicode_InternFromString("data");
  PyObject* ptr = PyUnicode_InternFromString("ptr");
  PyObject* device_id = PyUnicode_InternFromString("device_id");
  PyObject* nbytes = PyUnicode_InternFromString("nbytes");
};
const Names& names() {
  static const Names& all = *new Names;
  return all;
}

nb::object attribute(PyObject* object, PyObject* name) { return nb::steal(PyObject_GetAttr(object, name)); }
nb::object call(PyObject* object, PyObject* method) {
  return nb::steal(PyObject_CallMethodObjArgs(object, method, nullptr));
}

// False, without an error set, where the object is no such number.
bool to_number(const nb::object& object, long long& number) {
  if (!object.is_valid()) return false;
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  return overflow == 0 && !(number == -1 && PyErr_Occurred());
}

bool element_of(const Library& library, PyObject* value, Element& element) {
  const nb::object dtype = attribute(value, names().dtype);
  if (!dtype.is_valid()) return false;
  const auto found = library.dtypes.find(dtype.ptr());
  if (found == library.dtypes.end()) return false;
  element = found->second;
  return true;
}

bool read_torch(const Library& library, PyObject* value, const Place& place, bool with_bytes, Array& array) {
  const Names& n = names();
  long long device, address, count = 0;
  if (!to_number(call(value, n.get_device), device) || device != (place.is_host() ? -1 : place.device)) return false;
  if (call(value, n.is_contiguous).ptr() != Py_True || attribute(value, n.requires_grad).ptr() != Py_False)
    return false;
  if (!element_of(library, value, array.element) || !to_number(call(value, n.data_ptr), address)) return false;
  if (with_bytes && !to_number(call(value, n.numel), count)) return false;
  array.address = std::uintptr_t(address);
  array.bytes = std::uint64_t(count) * array.element.size;
  array.readonly = false;
  return true;
}

bool read_cupy(const Library& library, PyObject* value, const Place& place, bool with_bytes, Array& array) {
  const Names& n = names();
  long long device, address, bytes = 0;
  const nb::object data = attribute(value, n.data);
  if (!data.is_valid() || !to_number(attribute(data.ptr(), n.device_id), device) || device != place.device)
    return false;
  const nb::object contiguous = attribute(value, n.c_contiguous);
  if (!contiguous.is_valid() || PyObject_IsTrue(contiguous.ptr()) != 1) return false;
  if (!element_of(library, value, array.element) || !to_number(attribute(data.ptr(), n.ptr), address)) return false;
  if (with_bytes && !to_number(attribute(value, n.nbytes), bytes)) return false;
  array.address = std::uintptr_t(address);
  array.bytes = std::uint64_t(bytes);
  array.readonly = false;
  return true;
}

}  // namespace

void register_library(nb::handle type, std::string name, std::string backend, const nb::dict& dtypes,
                      nb::object current_stream) {
  auto* const of = reinterpret_cast<PyTypeObject*>(type.ptr());
  for (const auto& known : libraries())
    if (known->type == of) return;
  auto library = std::make_unique<Library>();
  type.inc_ref();
  library->type = of;
  library->name = std::move(name);
  library->backend = std::move(backend);
  library->current_stream = std::move(current_stream);
  for (const auto& [dtype, pair] : dtypes) {
    dtype.inc_ref();
    library->dtypes[dtype.ptr()] = {Kind(nb::cast<int>(pair[0])), nb::cast<std::uint32_t>(pair[1])};
  }
  libraries().push_back(std::move(library));
}

const Library* library_of(PyObject* value) {
  PyTypeObject* const type = Py_TYPE(value);
  for (const auto& library : libraries())
    if (library->type == type) return library.get();
  return nullptr;
}

bool read_library_array(const Library& library, PyObject* value, const Place& place, bool with_bytes, Array& array) {
  const bool is_torch = library.name == "torch";
  if (place.backend != library.backend && !(is_torch && place.is_host())) return false;
  const bool is_read = is_torch ? read_torch(library, value, place, with_bytes, array)
                                : read_cupy(library, value, place, with_bytes, array);
  if (!is_read) PyErr_Clear();
  return is_read;
}

}  // namespace gpuport::launcher
