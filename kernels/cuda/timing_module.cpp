// What benchmarks need of a backend's module: prepared calls, their times, and what the device is.
#include "timing_module.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "registry.hpp"
#include "timing.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace gp {

namespace {

using Address = std::uintptr_t;

std::function<void()> enqueue_of(nb::handle step, bool& is_python) {
  if (nb::isinstance<BoundCall>(step)) return [&call = nb::cast<const BoundCall&>(step)] { call.run(); };
  if (nb::isinstance<PreparedCopy>(step)) return [&copy = nb::cast<PreparedCopy&>(step)] { copy.enqueue(); };
  // A call that another module has prepared: a function and its argument, as addresses. The object owns them.
  if (nb::hasattr(step, "step")) {
    const auto [function, argument] = nb::cast<std::tuple<Address, Address>>(step.attr("step"));
    return [=] { reinterpret_cast<void (*)(void*)>(function)(reinterpret_cast<void*>(argument)); };
  }
  is_python = true;
  return [object = nb::borrow<nb::object>(step)] { object(); };
}

// `calls`: for each set of buffers the steps of one call.
std::vector<double> time_python_calls(const nb::list& calls, int warmups, int samples, bool graph, int device,
                                      Address stream) {
  bool is_python = false;
  std::vector<std::function<void()>> enqueue;
  for (const nb::handle steps : calls) {
    std::vector<std::function<void()>> parts;
    for (const nb::handle step : nb::cast<nb::list>(steps)) parts.push_back(enqueue_of(step, is_python));
    if (parts.size() == 1) {
      enqueue.push_back(parts.front());
    } else {
      enqueue.push_back([parts = std::move(parts)] {
        for (const auto& part : parts) part();
      });
    }
  }
  const Plan plan{warmups, samples, graph, device, reinterpret_cast<cudaStream_t>(stream)};
  if (is_python) return time_calls(enqueue, plan);
  const nb::gil_scoped_release release;
  return time_calls(enqueue, plan);
}

nb::dict facts(int device) {
  const DeviceFacts found = device_facts(device);
  nb::dict result;
  result["l2_bytes"] = found.l2_bytes;
  result["free_bytes"] = found.free_bytes;
  result["clock_khz"] = found.clock_khz;
  result["memory_clock_khz"] = found.memory_clock_khz;
  result["driver_version"] = found.driver_version;
  result["runtime_version"] = found.runtime_version;
  return result;
}

}  // namespace

void bind_timing(nb::module_& m) {
  nb::class_<PreparedCopy>(m, "PreparedCopy").def("__call__", &PreparedCopy::enqueue);
  nb::class_<Stream>(m, "Stream").def(nb::init<int>(), "device"_a).def_prop_ro("handle", [](const Stream& s) {
    return reinterpret_cast<Address>(s.handle());
  });
  m.def(
      "prepare_copy",
      [](Address dst, Address src, std::size_t bytes, bool by_kernel, int device, Address stream) {
        return new PreparedCopy(reinterpret_cast<void*>(dst), reinterpret_cast<const void*>(src), bytes, by_kernel,
                                device, reinterpret_cast<cudaStream_t>(stream));
      },
      "dst"_a, "src"_a, "nbytes"_a, "by_kernel"_a, "device"_a, "stream"_a);
  m.def("time_calls", &time_python_calls, "calls"_a, "warmups"_a, "samples"_a, "graph"_a, "device"_a, "stream"_a);
  m.def("device_facts", &facts, "device"_a);
  m.def(
      "workspace_bytes",
      [](int device, Address stream) { return workspace_bytes(device, reinterpret_cast<cudaStream_t>(stream)); },
      "device"_a, "stream"_a);
}

}  // namespace gp
