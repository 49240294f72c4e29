// The type of functions that replay calls. It is written by hand: no binding gives a type its own vectorcall.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include <atomic>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "replay.hpp"

namespace gpuport::launcher {

namespace {

struct Replayed {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* attributes;
  PyObject* weak_references;
  Function* function;
};

Function& function_of(PyObject* self) { return *reinterpret_cast<Replayed*>(self)->function; }

PyObject* call_replayed(PyObject* self, PyObject* const* values, std::size_t flagged_count, PyObject* names) {
  using Next = Attempt::Next;
  const Function& function = function_of(self);
  Attempt attempt(function, {values, flagged_count, names});
  Next next = attempt.start();
  if (next == Next::kMeet) {
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(attempt.x()));
    PyObject* const met = PyObject_Vectorcall(function.meet.ptr(), &type, 1, nullptr);
    next = met == nullptr ? Next::kWhole : attempt.start();
    Py_XDECREF(met);
  }
  if (next == Next::kMake) {
    PyObject* x = attempt.x();
    next = attempt.launch_into(PyObject_Vectorcall(attempt.maker(), &x, 1, nullptr));
  }
  if (next == Next::kRecord) {
    PyObject* const request = attempt.request();
    if (request == nullptr) return nullptr;
    PyObject* const result = PyObject_Call(function.record.ptr(), request, nullptr);
    Py_DECREF(request);
    return result;
  }
  if (next == Next::kWhole) {
    // After an error of the library, for an array that is not what it seems, the whole way will say so.
    if (PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;  // an interrupt
      PyErr_Clear();
    }
    return PyObject_Vectorcall(function.whole.ptr(), values, flagged_count, names);
  }
  return attempt.result();
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  const auto& replayed = *reinterpret_cast<Replayed*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(replayed.attributes);
  if (replayed.function != nullptr) Py_VISIT(replayed.function->whole.ptr());
  return 0;
}

// What the function itself is part of a cycle with can be cleared elsewhere: it must stay callable.
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Replayed*>(self)->attributes);
  return 0;
}

void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_ClearWeakRefs(self);
  clear(self);
  delete reinterpret_cast<Replayed*>(self)->function;
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

// As a Python function in a class is.
PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return nb::borrow(self).release().ptr();
  try {
    return nb::module_::import_("types").attr("MethodType")(nb::handle(self), nb::handle(instance)).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
}

PyObject* representation(PyObject* self) {
  const nb::object name = nb::steal(PyObject_GetAttrString(self, "__qualname__"));
  if (name.is_valid()) return PyUnicode_FromFormat("<function %S at %p>", name.ptr(), self);
  PyErr_Clear();
  return PyUnicode_FromFormat("<function at %p>", self);
}

// Copies and pickles are references to the name, as a function's are.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Replayed, vectorcall), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(Replayed, attributes), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Replayed, weak_references), READONLY, nullptr},
                         {}};
PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
template <typename F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}
PyType_Slot slots[] = {{Py_tp_call, slot(PyVectorcall_Call)},
                       {Py_tp_traverse, slot(traverse)},
                       {Py_tp_clear, slot(clear)},
                       {Py_tp_dealloc, slot(destroy)},
                       {Py_tp_descr_get, slot(bind_method)},
                       {Py_tp_repr, slot(representation)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"gpuport._launcher.Replayed", sizeof(Replayed), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

using PlanRecord =
    std::tuple<std::tuple<std::uintptr_t, std::uintptr_t>, nb::object, std::tuple<std::int64_t, std::int64_t>,
               std::tuple<std::int64_t, std::int64_t>, bool, nb::object>;

// Of the tuple that _replay.py makes, or None.
Plans::Entry plan_of(nb::handle record) {
  if (record.is_none()) return nullptr;
  auto [entry, owner, x, out, in_place, make] = nb::cast<PlanRecord>(record);
  return std::make_shared<const Plan>(Plan{reinterpret_cast<Enqueue>(std::get<0>(entry)),
                                           reinterpret_cast<const void*>(std::get<1>(entry)),
                                           std::move(owner),
                                           {std::get<0>(x), std::get<1>(x)},
                                           {std::get<0>(out), std::get<1>(out)},
                                           in_place,
                                           std::move(make)});
}

std::size_t index_of(const std::vector<nb::object>& parameters, const char* name) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (std::string(nb::cast<const char*>(parameters[i])) == name) return i;
  return kMostParameters;
}

nb::object make_replayed(nb::handle type, nb::object whole, const nb::tuple& parameters, std::size_t positional,
                         nb::object record, nb::object meet, nb::object plans) {
  static std::atomic<std::uint64_t> count{0};
  auto function = std::make_unique<Function>();
  for (const nb::handle name : parameters) function->parameters.push_back(nb::borrow(name));
  function->out = index_of(function->parameters, "out");
  function->stream = index_of(function->parameters, "stream");
  if (function->parameters.size() > kMostParameters || positional > function->parameters.size())
    throw nb::value_error("too many parameters");
  function->number = ++count;
  function->positional = positional;
  function->whole = std::move(whole);
  function->record = std::move(record);
  function->meet = std::move(meet);
  function->plans = nb::cast<Plans*>(plans);
  function->owner = std::move(plans);
  auto* const allocate =
      reinterpret_cast<allocfunc>(PyType_GetSlot(reinterpret_cast<PyTypeObject*>(type.ptr()), Py_tp_alloc));
  nb::object made = nb::steal(allocate(reinterpret_cast<PyTypeObject*>(type.ptr()), 0));
  if (!made.is_valid()) throw nb::python_error();
  auto& replayed = *reinterpret_cast<Replayed*>(made.ptr());
  replayed.function = function.release();
  replayed.vectorcall = call_replayed;
  return made;
}

}  // namespace

void bind_replay(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<StoredKey>(m, "Key", "What tells a call from others.");
  nb::class_<Plans>(m, "Plans", "What calls came to, by their keys.")
      .def(nb::init<std::size_t>(), "most"_a)
      .def(
          "add", [](Plans& plans, const StoredKey& key, nb::handle plan) { plans.add(key, plan_of(plan)); }, "key"_a,
          "plan"_a.none())
      .def("__len__", [](const Plans& plans) { return plans.filled().size(); })
      .def("filled", &Plans::filled, "For each call, whether it goes straight to its launch.")
      .def("clear", &Plans::clear)
      .def_prop_rw("most", &Plans::most, &Plans::set_most);
  const nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr("Replayed") = type;
  m.def(
      "replayed",
      [type = type.ptr()](nb::object whole, const nb::tuple& parameters, std::size_t positional, nb::object record,
                          nb::object meet, nb::object plans) {
        return make_replayed(type, std::move(whole), parameters, positional, std::move(record), std::move(meet),
                             std::move(plans));
      },
      "whole"_a, "parameters"_a, "positional"_a, "record"_a, "meet"_a, "plans"_a);
  m.def("add_constant_type", &add_constant_type, "type"_a);
  m.def("replay_torch", &replay_torch, "type"_a, "table"_a.none(), "stream"_a.none(), "increment_version"_a,
        "samples"_a.none());
  m.def("replay_cupy", &replay_cupy, "type"_a, "stream"_a, "c_stream"_a.none());
  m.def("replay_numpy", &replay_numpy, "type"_a);
  m.def("replay_device_array", &replay_device_array, "type"_a);
}

}  // namespace gpuport::launcher
