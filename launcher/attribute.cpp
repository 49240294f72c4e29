#include "attribute.hpp"

#include <string_view>

namespace gpuport::launcher {

namespace {

// The getter of that name in the table that a class was made with.
const PyGetSetDef* getter_of(nb::handle type, nb::handle name) {
  const auto* def =
      static_cast<const PyGetSetDef*>(PyType_GetSlot(reinterpret_cast<PyTypeObject*>(type.ptr()), Py_tp_getset));
  while (def != nullptr && def->name != nullptr && PyUnicode_CompareWithASCIIString(name.ptr(), def->name) != 0) ++def;
  return def != nullptr && def->name != nullptr ? def : nullptr;
}

// Whether a class keeps what typing.NamedTuple put there for a field.
bool is_field(nb::handle type, nb::handle found) {
  const nb::str kind = nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(found.ptr()))).attr("__name__"));
  return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), &PyTuple_Type) &&
         std::string_view(kind.c_str()) == "_tuplegetter";
}

}  // namespace

void Attribute::find(PyTypeObject* type) const {
  Py_INCREF(reinterpret_cast<PyObject*>(type));  // for ever: its address is compared with
  type_ = type;
  // A type with a search of its own may answer differently.
  if (PyType_GetSlot(type, Py_tp_getattro) != reinterpret_cast<void*>(&PyObject_GenericGetAttr)) return;
  const nb::handle handle = reinterpret_cast<PyObject*>(type), name = name_;
  for (const nb::handle base : nb::borrow<nb::tuple>(handle.attr("__mro__"))) {
    const nb::object members = base.attr("__dict__");
    if (!nb::cast<bool>(members.attr("__contains__")(name))) continue;
    const nb::object found = members[name];
    if (Py_TYPE(found.ptr()) == &PyGetSetDescr_Type) {
      if (const PyGetSetDef* const def = getter_of(base, name)) {
        get_ = def->get;
        closure_ = def->closure;
      }
    } else if (is_field(base, found)) {
      field_ = nb::cast<Py_ssize_t>(base.attr("_fields").attr("index")(name));
    }
    return;
  }
}

}  // namespace gpuport::launcher
