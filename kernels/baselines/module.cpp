// The Python module of a baseline library. A prepared call is handed over as two addresses, a function and its
// argument, which the timing loop of gpuport's own module calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "baseline.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Address = std::uintptr_t;

class Prepared {
 public:
  explicit Prepared(const baselines::Request& request) : job_(baselines::prepare(request)) {}
  void enqueue() { job_->enqueue(); }
  std::size_t temporary_bytes() const { return job_->temporary_bytes(); }
  std::tuple<Address, Address> step() const {
    return {reinterpret_cast<Address>(&call), reinterpret_cast<Address>(job_.get())};
  }

 private:
  static void call(void* job) { static_cast<baselines::Job*>(job)->enqueue(); }
  std::unique_ptr<baselines::Job> job_;
};

Prepared* prepare(const std::string& op, const std::string& dtype, std::int64_t count, std::int64_t segments, Address x,
                  Address keep, Address offsets, Address out, Address extra, Address stream) {
  const auto pointer = [](Address address) { return reinterpret_cast<void*>(address); };
  return new Prepared({op, dtype, count, segments, pointer(x), pointer(keep), pointer(offsets), pointer(out),
                       pointer(extra), pointer(stream)});
}

}  // namespace

NB_MODULE(GPUPORT_MODULE_NAME, m) {
  m.doc() = "A vendor library's primitives, to measure against. Private: use `gpuport bench --against`.";
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const baselines::Unsupported& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
  nb::class_<Prepared>(m, "Prepared")
      .def("__call__", &Prepared::enqueue)
      .def_prop_ro("temporary_bytes", &Prepared::temporary_bytes)
      .def_prop_ro("step", &Prepared::step);
  m.def("prepare", &prepare, "op"_a, "dtype"_a, "count"_a, "segments"_a, "x"_a, "keep"_a, "offsets"_a, "out"_a,
        "extra"_a, "stream"_a);
  m.def("version", &baselines::library_version);
}
