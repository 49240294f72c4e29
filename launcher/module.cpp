// gpuport._launcher: calls a compiled kernel with Python's arguments, and repeats calls of the package's functions.
// Private: gpuport.load gives its kernels.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "arguments.hpp"
#include "arrays.hpp"
#include "kernel.hpp"
#include "kernel_type.hpp"
#include "lock_release.hpp"
#include "replay.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gpuport::launcher;

namespace {

std::shared_ptr<Target> make_target(std::uintptr_t launch, std::uintptr_t launch_cooperative, std::uintptr_t get,
                                    std::uintptr_t set, std::uintptr_t current, bool is_context,
                                    const std::string& backend, int device, nb::object resolve, nb::object stream,
                                    nb::object on_error) {
  return std::make_shared<Target>(Target{reinterpret_cast<LaunchFunction>(launch),
                                         reinterpret_cast<CooperativeFunction>(launch_cooperative),
                                         {get, set, current, is_context},
                                         {backend_named(backend), device, std::move(resolve)},
                                         std::move(stream),
                                         std::move(on_error)});
}

}  // namespace

NB_MODULE(_launcher, m) {
  m.doc() = "Launches of kernels that were compiled at run time, and of calls that repeat. Private: use gpuport.";
  nb::set_leak_warnings(false);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&gp::finish_calls));

  m.def(
      "register_scalar",
      [](nb::handle type, int kind, std::uint32_t size, nb::handle sample, const nb::bytes& bytes) {
        register_scalar(type, Kind(kind), size, sample, bytes);
      },
      "type"_a, "kind"_a, "size"_a, "sample"_a, "bytes"_a);
  m.def("register_numpy", &register_numpy, "ndarray"_a, "dtypes"_a, "samples"_a);
  m.def("register_device_array", &register_device_array, "type"_a, "dtypes"_a);
  m.def("register_library", &register_library, "type"_a, "name"_a, "backend"_a, "dtypes"_a, "current_stream"_a,
        "c_stream"_a = nb::none());
  nb::class_<Target>(m, "Target", "One device of one backend, as a kernel needs it.")
      .def(nb::new_(&make_target), "launch"_a, "launch_cooperative"_a, "get_current"_a, "set_current"_a, "current"_a,
           "is_context"_a, "backend"_a, "device"_a, "resolve"_a, "stream"_a, "on_error"_a);
  add_kernel_type(m);
  bind_replay(m);
}
