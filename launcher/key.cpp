#include "key.hpp"

#include <algorithm>

namespace gpuport::launcher {

namespace {

std::vector<PyTypeObject*>& constant_types() {
  static auto& all = *new std::vector<PyTypeObject*>;
  return all;
}

}  // namespace

bool is_constant_type(PyTypeObject* type) {
  return std::ranges::any_of(constant_types(), [&](PyTypeObject* one) { return PyType_IsSubtype(type, one) != 0; });
}

void add_constant_type(nb::type_object type) {
  auto* const added = reinterpret_cast<PyTypeObject*>(type.ptr());
  if (is_constant_type(added)) return;
  type.inc_ref();
  constant_types().push_back(added);
}

}  // namespace gpuport::launcher
