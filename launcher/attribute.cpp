#include "attribute.hpp"

#include <cstring>

namespace gpuport::launcher {

void Attribute::find_getter(PyTypeObject* type) const {
  Py_INCREF(reinterpret_cast<PyObject*>(type));  // for ever: its address is compared with
  type_ = type;
  // A type with a search of its own may answer differently.
  if (PyType_GetSlot(type, Py_tp_getattro) != reinterpret_cast<void*>(&PyObject_GenericGetAttr)) return;
  const nb::handle handle = reinterpret_cast<PyObject*>(type);
  const char* const wanted = nb::borrow<nb::str>(name_).c_str();
  for (const nb::handle base : nb::borrow<nb::tuple>(handle.attr("__mro__"))) {
    const nb::object members = base.attr("__dict__");
    if (!nb::cast<bool>(members.attr("__contains__")(nb::handle(name_)))) continue;
    const nb::object found = members[nb::handle(name_)];
    if (Py_TYPE(found.ptr()) != &PyGetSetDescr_Type) return;
    auto* def = static_cast<PyGetSetDef*>(PyType_GetSlot(reinterpret_cast<PyTypeObject*>(base.ptr()), Py_tp_getset));
    for (; def != nullptr && def->name != nullptr; ++def) {
      if (std::strcmp(def->name, wanted) != 0) continue;
      get_ = def->get;
      closure_ = def->closure;
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
