// The Python module of one backend: gpuport._cpu, gpuport._cuda or gpuport._hip, from the same source.
//
// Takes addresses and strides that python/gpuport has validated, and turns errors into Python's. See docs/design.md.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <gpuport/error.hpp>
#include <gpuport/runtime.hpp>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "devices.hpp"
#include "gpuport_build.hpp"
#include "lock_release.hpp"
#include "registry.hpp"
#include "timing.hpp"
#include "timing_module.hpp"
#include "util/util.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using gp::index_t;
using gp::LockRelease;
using Address = std::uintptr_t;
using MatrixArgument = std::tuple<Address, std::string, index_t, index_t>;       // address, dtype, strides
using StridedArgument = std::tuple<Address, std::string, std::vector<index_t>>;  // address, dtype, strides

cudaStream_t stream_of(Address handle) { return reinterpret_cast<cudaStream_t>(handle); }

gp::Operand operand(const MatrixArgument& argument) {
  const auto& [address, dtype, row_stride, col_stride] = argument;
  return {reinterpret_cast<void*>(address), gp::dtype_from_name(dtype.c_str()), row_stride, col_stride};
}

void further_operands(const std::vector<MatrixArgument>& arguments, gp::Operand (&operands)[gp::kMoreOperands]) {
  if (arguments.size() > gp::kMoreOperands) throw gp::Error(gp::ErrorKind::kValue, "too many operands");
  for (std::size_t i = 0; i < arguments.size(); ++i) operands[i] = operand(arguments[i]);
}

gp::util::Shape shape_of(const std::vector<index_t>& sizes) {
  if (sizes.size() > gp::util::kMaxDims) throw gp::Error(gp::ErrorKind::kValue, "more than 32 dimensions");
  gp::util::Shape shape{int(sizes.size()), {}};
  for (std::size_t d = 0; d < sizes.size(); ++d) shape.sizes[d] = sizes[d];
  return shape;
}

gp::util::Strided strided(const StridedArgument& argument, const gp::util::Shape& shape) {
  const auto& [address, dtype, strides] = argument;
  if (int(strides.size()) != shape.dims) throw gp::Error(gp::ErrorKind::kValue, "as many strides as dimensions");
  gp::util::Strided array{reinterpret_cast<void*>(address), gp::dtype_from_name(dtype.c_str()), {}};
  for (int d = 0; d < shape.dims; ++d) array.strides[d] = strides[std::size_t(d)];
  return array;
}

// Adds to an error about missing code what the device is and what there is code for.
template <typename F>
auto naming_architectures(int device, F&& f) {
  try {
    return f();
  } catch (const gp::Error& error) {
    if (error.kind != gp::ErrorKind::kUnsupportedArch) throw;
    throw gp::Error(error.kind, "device " + std::to_string(device) + " is " + gp::device_info(device).architecture +
                                    ", and this build has code for " + gp::build::kArchitectures + ": " + error.what());
  }
}

gp::BoundCall prepare(const std::string& name, const std::string& op, index_t rows, index_t cols,
                      const MatrixArgument& input, const MatrixArgument& output,
                      const std::optional<MatrixArgument>& mask, int device, Address stream,
                      const std::optional<MatrixArgument>& scratch, const std::vector<MatrixArgument>& more_inputs,
                      const std::vector<MatrixArgument>& more_outputs) {
  gp::Call call;
  call.rows = rows;
  call.cols = cols;
  call.in = operand(input);
  call.out = operand(output);
  if (mask) call.keep = operand(*mask);
  if (scratch) call.scratch = operand(*scratch);
  further_operands(more_inputs, call.more_in);
  further_operands(more_outputs, call.more_out);
  call.device = device;
  call.stream = stream_of(stream);
  return {name, op, call};
}

void run(const std::string& name, const std::string& op, index_t rows, index_t cols, const MatrixArgument& input,
         const MatrixArgument& output, const std::optional<MatrixArgument>& mask, int device, Address stream,
         const std::optional<MatrixArgument>& scratch, const std::vector<MatrixArgument>& more_inputs,
         const std::vector<MatrixArgument>& more_outputs) {
  const gp::BoundCall call =
      prepare(name, op, rows, cols, input, output, mask, device, stream, scratch, more_inputs, more_outputs);
  const LockRelease release;
  naming_architectures(device, [&] { call.run(); });
}

void copy(const std::vector<index_t>& sizes, const StridedArgument& src, const StridedArgument& dst, int device,
          Address stream) {
  const gp::util::Shape shape = shape_of(sizes);
  const gp::util::Strided from = strided(src, shape), to = strided(dst, shape);
  const LockRelease release;
  naming_architectures(device, [&] { gp::util::copy(shape, from, to, device, stream_of(stream)); });
}

index_t first_nonfinite(const std::vector<index_t>& sizes, const StridedArgument& src, int device, Address stream) {
  const gp::util::Shape shape = shape_of(sizes);
  const gp::util::Strided array = strided(src, shape);
  const LockRelease release;
  return naming_architectures(device,
                              [&] { return gp::util::first_nonfinite(shape, array, device, stream_of(stream)); });
}

// A contiguous Python buffer for the length of a copy.
class BufferView {
 public:
  BufferView(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  ~BufferView() { PyBuffer_Release(&view_); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  void* data() const { return view_.buf; }
  std::size_t bytes() const { return std::size_t(view_.len); }

 private:
  Py_buffer view_{};
};

void transfer(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
              const char* doing) {
  const LockRelease release;
  const void* device_side = kind == cudaMemcpyHostToDevice ? dst : src;
  const int owner = gp::device_of_pointer(device_side);
  const gp::DeviceScope scope(owner < 0 ? gp::current_device() : owner);
  gp::check(cudaMemcpyAsync(dst, src, bytes, kind, stream), doing);
  gp::check(cudaStreamSynchronize(stream), doing);
}

void upload(Address address, nb::handle data, Address stream) {
  const BufferView view(data, PyBUF_C_CONTIGUOUS);
  transfer(reinterpret_cast<void*>(address), view.data(), view.bytes(), cudaMemcpyHostToDevice, stream_of(stream),
           "copying to the device");
}

void download(Address address, nb::handle data, Address stream) {
  const BufferView view(data, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  transfer(view.data(), reinterpret_cast<const void*>(address), view.bytes(), cudaMemcpyDeviceToHost, stream_of(stream),
           "copying from the device");
}

nb::list kernels() {
  nb::list result;
  for (const gp::KernelEntry& entry : gp::kernel_entries()) {
    nb::list dtypes, repeatable;
    for (int d = 0; d < gp::kDTypes; ++d) {
      const gp::DType dtype = gp::DType(d);
      if (!entry.takes(dtype)) continue;
      dtypes.append(gp::dtype_name(dtype));
      if (entry.repeats(dtype)) repeatable.append(gp::dtype_name(dtype));
    }
    nb::dict record;
    record["name"] = entry.name;
    record["operations"] = nb::str(entry.operations).attr("split")();
    record["dtypes"] = dtypes;
    record["repeatable"] = repeatable;
    record["limits"] = entry.limits;
    record["doc"] = entry.doc;
    result.append(record);
  }
  return result;
}

nb::dict device(int index) {
  const gp::DeviceInfo info = gp::device_info(index);
  nb::dict result;
  result["index"] = index;
  result["name"] = info.name;
  result["architecture"] = info.architecture;
  result["warp_size"] = info.warp_size;
  result["multiprocessors"] = info.multiprocessors;
  result["memory"] = info.memory;
  return result;
}

nb::dict build_info() {
  nb::dict result;
  result["backend"] = gp::build::kBackend;
  result["architectures"] = gp::build::kArchitectures;
  result["compiler"] = gp::build::kCompiler;
  result["runtime"] = gp::build::kRuntime;
  result["flags"] = gp::build::kFlags;
  nb::list widths;
  for (const int width : gp::target_warp_widths()) widths.append(width);
  result["warp_sizes"] = widths;
  return result;
}

// The Python class of an error: a builtin, or one of gpuport.errors.
void raise(const gp::Error& error) {
  const auto custom = [&](const char* name) {
    const nb::object type = nb::module_::import_("gpuport.errors").attr(name);
    PyErr_SetString(type.ptr(), error.what());
  };
  switch (error.kind) {
    case gp::ErrorKind::kType:
      return PyErr_SetString(PyExc_TypeError, error.what());
    case gp::ErrorKind::kValue:
      return PyErr_SetString(PyExc_ValueError, error.what());
    case gp::ErrorKind::kMemory:
      return PyErr_SetString(PyExc_MemoryError, error.what());
    case gp::ErrorKind::kLaunch:
      return custom("LaunchError");
    case gp::ErrorKind::kUnsupportedArch:
      return custom("UnsupportedArchError");
    case gp::ErrorKind::kRuntime:
      return custom("Error");
  }
}

// BoundCall::run on other memory, for gpuport._launcher, which spares the way through Python. Called with the
// interpreter's lock; 0, or -1 with Python's error set.
int enqueue(const void* prepared, void* input, void* output, void* stream) noexcept {
  const auto& call = *static_cast<const gp::BoundCall*>(prepared);
  try {
    try {
      const LockRelease release;
      naming_architectures(call.device(), [&] { call.run(input, output, static_cast<cudaStream_t>(stream)); });
      return 0;
    } catch (const gp::Error& error) {
      raise(error);
    }
  } catch (nb::python_error& error) {  // of finding the class
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return -1;
}

}  // namespace

NB_MODULE(GPUPORT_MODULE_NAME, m) {
  m.doc() = "One backend of gpuport. Private: use the gpuport package.";
  // Functions that the package holds in module globals outlive the interpreter's last collection; that is no leak.
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const gp::Error& error) {
      raise(error);
    }
  });

  nb::class_<gp::Buffer>(m, "Buffer", "Device memory, freed with the object.")
      .def_prop_ro("address", [](const gp::Buffer& b) { return reinterpret_cast<Address>(b.data()); })
      .def_prop_ro("nbytes", &gp::Buffer::bytes)
      .def_prop_ro("device", &gp::Buffer::device);

  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&gp::finish_calls));
  m.def("build_info", &build_info);
  m.def("kernels", &kernels);
  m.def("device_count", &gp::device_count, nb::call_guard<LockRelease>());
  m.def("device_error", &gp::device_error, nb::call_guard<LockRelease>());
  m.def("device", &device, "index"_a);
  nb::class_<gp::BoundCall>(m, "BoundCall", "A kernel call that is ready to be enqueued.")
      .def(
          "__call__", [](const gp::BoundCall& call) { call.run(); }, nb::call_guard<LockRelease>())
      .def_prop_ro("entry", [](const gp::BoundCall& call) {
        return std::tuple(reinterpret_cast<Address>(&enqueue), reinterpret_cast<Address>(&call));
      });
  m.def("run", &run, "name"_a, "op"_a, "rows"_a, "cols"_a, "input"_a, "output"_a, "mask"_a.none(), "device"_a,
        "stream"_a, "scratch"_a = nb::none(), "more_inputs"_a = nb::tuple(), "more_outputs"_a = nb::tuple());
  m.def("prepare", &prepare, "name"_a, "op"_a, "rows"_a, "cols"_a, "input"_a, "output"_a, "mask"_a.none(), "device"_a,
        "stream"_a, "scratch"_a = nb::none(), "more_inputs"_a = nb::tuple(), "more_outputs"_a = nb::tuple());
  gp::bind_timing(m);
  m.def("copy", &copy, "shape"_a, "src"_a, "dst"_a, "device"_a, "stream"_a);
  m.def("first_nonfinite", &first_nonfinite, "shape"_a, "src"_a, "device"_a, "stream"_a);
  m.def(
      "allocate",
      [](std::size_t bytes, int device, std::optional<Address> stream) {
        return new gp::Buffer(bytes, device, stream ? std::optional(stream_of(*stream)) : std::nullopt);
      },
      "nbytes"_a, "device"_a, "stream"_a = nb::none());
  m.def("upload", &upload, "address"_a, "data"_a, "stream"_a);
  m.def("download", &download, "address"_a, "data"_a, "stream"_a);
  m.def(
      "synchronize", [](int device, Address stream) { gp::synchronize(device, stream_of(stream)); }, "device"_a,
      "stream"_a, nb::call_guard<LockRelease>());
  m.def(
      "stream_busy", [](int device, Address stream) { return gp::stream_busy(device, stream_of(stream)); }, "device"_a,
      "stream"_a);
  m.def(
      "is_capturing", [](int device, Address stream) { return gp::stream_is_capturing(device, stream_of(stream)); },
      "device"_a, "stream"_a);
  m.def(
      "pointer_device", [](Address address) { return gp::device_of_pointer(reinterpret_cast<void*>(address)); },
      "address"_a);
}
