// kernel(grid, block, args=(), shared_mem=0, stream=None, cooperative=False)
//
// Written for Python's vectorcall, which hands the arguments over where they lie: a method that is bound like any other
// would cost as much as the rest of a launch.
#include "kernel_type.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include <cstddef>
#include <exception>
#include <new>

#include "kernel.hpp"

namespace gpuport::launcher {

namespace {

struct KernelObject {
  PyObject head;
  vectorcallfunc call;
  Kernel* kernel;  // null before __init__
};

const Kernel& kernel_of(PyObject* self) {
  const Kernel* const kernel = reinterpret_cast<KernelObject*>(self)->kernel;
  if (kernel == nullptr) throw nb::type_error("the kernel was never made");
  return *kernel;
}

// Runs it, and makes Python's errors of C++'s.
template <typename Run>
bool is_done(const Run& run) {
  try {
    run();
    return true;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(error.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_ValueError, error.what());
  } catch (const nb::cast_error&) {
    PyErr_SetString(PyExc_TypeError, "a value is not of the type that the launcher needs");
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return false;
}

constexpr Py_ssize_t kLeast = 2, kMost = 6;
PyObject* names[kMost];

[[noreturn]] void fail_call(const Kernel& kernel, const std::string& why) {
  const std::string takes = "(grid, block, args=(), shared_mem=0, stream=None, cooperative=False): ";
  throw nb::type_error((kernel.name() + takes + why).c_str());
}

void take_keywords(const Kernel& kernel, PyObject* keywords, PyObject* const* values, PyObject** given) {
  for (Py_ssize_t k = 0; k < PyTuple_Size(keywords); ++k) {
    PyObject* const keyword = PyTuple_GetItem(keywords, k);
    Py_ssize_t i = 0;
    while (i < kMost && names[i] != keyword) ++i;  // what the compiler interned
    if (i == kMost) {
      i = 0;
      while (i < kMost && PyUnicode_Compare(names[i], keyword) != 0) ++i;
    }
    const auto text = [&] { return nb::cast<std::string>(nb::handle(keyword)); };
    if (i == kMost) fail_call(kernel, "there is no argument " + text());
    if (given[i] != nullptr) fail_call(kernel, text() + " is given twice");
    given[i] = values[k];
  }
}

PyObject* call(PyObject* self, PyObject* const* arguments, std::size_t flagged_count, PyObject* keywords) {
  const bool launched = is_done([&] {
    const Kernel& kernel = kernel_of(self);
    const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
    PyObject* given[kMost] = {};
    if (count > kMost) fail_call(kernel, std::to_string(count) + " arguments given");
    for (Py_ssize_t i = 0; i < count; ++i) given[i] = arguments[i];
    if (keywords != nullptr) take_keywords(kernel, keywords, arguments + count, given);
    for (Py_ssize_t i = 0; i < kLeast; ++i)
      if (given[i] == nullptr) fail_call(kernel, nb::cast<std::string>(nb::handle(names[i])) + " is missing");
    PyObject* const cooperative = given[5];
    if (cooperative != nullptr && !PyBool_Check(cooperative)) fail_call(kernel, "cooperative must be True or False");
    kernel.launch(given[0], given[1], {given[2], given[3], given[4], cooperative == Py_True});
  });
  return launched ? nb::none().release().ptr() : nullptr;
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* const self = allocate(type, 0);
  if (self != nullptr) reinterpret_cast<KernelObject*>(self)->call = &call;
  return self;
}

int init(PyObject* self, PyObject* positional, PyObject* keywords) {
  static const char* const kNames[] = {"name", "function", "parameters", "target", nullptr};
  PyObject *name, *function, *parameters, *target;
  if (!PyArg_ParseTupleAndKeywords(positional, keywords, "OOOO:Kernel", const_cast<char**>(kNames), &name, &function,
                                   &parameters, &target))
    return -1;
  const bool made = is_done([&] {
    auto kernel = std::make_unique<Kernel>(nb::cast<std::string>(nb::handle(name)),
                                           nb::cast<std::uintptr_t>(nb::handle(function)),
                                           nb::cast<std::vector<Kernel::Record>>(nb::handle(parameters)),
                                           nb::cast<std::shared_ptr<Target>>(nb::handle(target)));
    delete std::exchange(reinterpret_cast<KernelObject*>(self)->kernel, kernel.release());
  });
  return made ? 0 : -1;
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<KernelObject*>(self)->kernel;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* check(PyObject* self, PyObject* arguments) {
  return is_done([&] { kernel_of(self).check(arguments); }) ? nb::none().release().ptr() : nullptr;
}

PyObject* get_name(PyObject* self, void*) {
  nb::object name;
  return is_done([&] { name = nb::cast(kernel_of(self).name()); }) ? name.release().ptr() : nullptr;
}

PyObject* get_function(PyObject* self, void*) {
  nb::object function;
  return is_done([&] { function = nb::cast(kernel_of(self).function()); }) ? function.release().ptr() : nullptr;
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef methods[] = {
    {"check", &check, METH_O, "Raise what a call with these arguments would raise."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"name", &get_name, nullptr, nullptr, nullptr},
    {"function", &get_function, nullptr, "Its handle, as a number.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A kernel that can be called.")},
    {Py_tp_new, reinterpret_cast<void*>(&make)},
    {Py_tp_init, reinterpret_cast<void*>(&init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
    {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"gpuport._launcher.Kernel", sizeof(KernelObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

void add_kernel_type(nb::module_& module) {
  constexpr const char* kNames[kMost] = {"grid", "block", "args", "shared_mem", "stream", "cooperative"};
  for (Py_ssize_t i = 0; i < kMost; ++i) names[i] = PyUnicode_InternFromString(kNames[i]);
  const nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  module.attr("Kernel") = type;
}

}  // namespace gpuport::launcher
