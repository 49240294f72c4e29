#include "libraries.hpp"

namespace gpuport::launcher {

namespace {

// Never freed: kernels may outlive the interpreter's last collection.
IdentityMap<std::unique_ptr<Library>>& libraries = *new IdentityMap<std::unique_ptr<Library>>;

void add(nb::handle type, std::unique_ptr<Library> library) {
  if (libraries.find(type.ptr()) == nullptr) libraries.add(type.ptr(), std::move(library));
}

}  // namespace

Backend backend_named(const std::string& name) {
  if (name == "cpu") return Backend::kCpu;
  if (name == "cuda") return Backend::kCuda;
  if (name == "hip") return Backend::kHip;
  throw nb::value_error(("no backend is named " + name).c_str());
}

Dtypes dtypes_of(const nb::dict& elements) {
  Dtypes dtypes;
  for (const auto& [dtype, pair] : elements)
    dtypes.add(dtype.ptr(), {Kind(nb::cast<int>(pair[0])), nb::cast<std::uint32_t>(pair[1])});
  return dtypes;
}

void register_library(nb::handle type, const std::string& name, const std::string& backend, const nb::dict& dtypes,
                      nb::object current_stream, nb::handle c_stream) {
  const Backend own = backend_named(backend);
  add(type, name == "torch" ? make_torch(type, own, dtypes_of(dtypes), std::move(current_stream))
                            : make_cupy(own, dtypes_of(dtypes), std::move(current_stream), c_stream));
}

void register_device_array(nb::handle type, const nb::dict& elements) { add(type, make_device_arrays(elements)); }

const Library* library_of(PyObject* value) {
  const auto* const found = libraries.find(Py_TYPE(value));
  return found == nullptr ? nullptr : found->get();
}

}  // namespace gpuport::launcher
