#include "attribute.hpp"

namespace gpuport::launcher {

namespace {

// The entry of that name in the table that a class was made with, of getters or of slots.
template <typename Entry>
Entry* entry_of(nb::handle type, int table, nb::handle name) {
  auto* entry = static_cast<Entry*>(PyType_GetSlot(reinterpret_cast<PyTypeObject*>(type.ptr()), table));
  while (entry != nullptr && entry->name != nullptr && PyUnicode_CompareWithASCIIString(name.ptr(), entry->name) != 0)
    ++entry;
  return entry != nullptr && entry->name != nullptr ? entry : nullptr;
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
    const PyTypeObject* const kind = Py_TYPE(nb::object(members[name]).ptr());
    if (kind == &PyGetSetDescr_Type) {
      if (const auto* const entry = entry_of<PyGetSetDef>(base, Py_tp_getset, name)) {
        get_ = entry->get;
        closure_ = entry->closure;
      }
    } else if (kind == &PyMemberDescr_Type) {
      slot_ = entry_of<PyMemberDef>(base, Py_tp_members, name);
    }
    return;
  }
}

bool to_number(const nb::object& object, long long& number) {
  if (!object.is_valid()) return false;
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  return overflow == 0 && !(number == -1 && PyErr_Occurred());
}

}  // namespace gpuport::launcher
