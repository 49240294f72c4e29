// PyTorch's tensors as repeated calls see them.
#include "attribute.hpp"
#include "dlpack.hpp"
#include "facts.hpp"
#include "reading.hpp"
#include "torch_functions.hpp"

namespace gpuport::launcher {

namespace {

class TorchReader final : public ArrayReader {
 public:
  TorchReader(nb::type_object type, nb::handle table, nb::object stream, nb::object increment_version,
              nb::handle samples)
      : table_(dlpack::exchange_api_of(table.ptr())),
        functions_(samples),
        stream_(stream.release().ptr()),
        increment_version_(increment_version.release().ptr()),
        is_neg_(type, "is_neg"),
        storage_(type, "untyped_storage"),
        data_ptr_(type, "data_ptr"),
        get_device_(type, "get_device"),
        stride_(type, "stride"),
        is_inference_(type, "is_inference") {}

  bool read(PyObject* tensor, Facts& facts, Key& key) const override {
    if (requires_grad_(tensor).ptr() != Py_False) return false;
    const bool by_functions = table_ != nullptr && functions_.are_found();
    if (!(by_functions ? read_by_functions(tensor, facts, key) : read_by_methods(tensor, facts, key))) return false;
    add_place(facts, key);
    return facts.address != 0;
  }

  bool current_stream(const Facts& facts, void*& stream) const override {
    stream = nullptr;
    if (facts.is_host) return true;
    const nb::object device = nb::steal(PyLong_FromLong(facts.device));
    long long handle;
    if (!to_number(call(stream_, device.ptr()), handle)) return false;
    stream = reinterpret_cast<void*>(handle);
    return true;
  }

  // Writing through the address passes autograd by: a backward pass that saved the old values has to be an error.
  bool written(PyObject* tensor) const override {
    TorchFunctions::Tensor handle;
    if (functions_.are_found() && functions_.tensor_of(tensor, handle) && functions_.bump_version(handle)) return true;
    const nb::object tensors = nb::steal(PyTuple_Pack(1, tensor));
    const nb::object done = call(increment_version_, tensors.ptr());
    if (done.is_valid()) return true;
    // A tensor made in inference mode has no version; some releases complain of that.
    nb::python_error error;
    if (is_inference_(tensor).ptr() == Py_True) return true;
    error.restore();
    return false;
  }

 private:
  // The table does not tell whether a view is negated, nor whether a storage was resized since.
  bool read_by_functions(PyObject* tensor, Facts& facts, Key& key) const {
    TorchFunctions::Tensor handle;
    dlpack::Tensor view;
    std::int64_t offset, bytes;
    if (!functions_.tensor_of(tensor, handle) || functions_.is_neg(handle)) return false;
    if (!read_by_table(tensor, facts, key, view) || !functions_.storage_of(handle, offset, bytes)) return false;
    facts.room = bytes - offset * (view.dtype.bits / 8);
    return true;
  }

  bool read_by_methods(PyObject* tensor, Facts& facts, Key& key) const {
    dlpack::Tensor view;
    if (is_neg_(tensor).ptr() != Py_False) return false;
    if (!(table_ != nullptr ? read_by_table(tensor, facts, key, view) : read_by_attributes(tensor, facts, key)))
      return false;
    const nb::object storage = storage_(tensor);
    long long begin, bytes;
    if (!storage.is_valid() || !to_number(call_method(storage.ptr(), data_ptr_name_), begin) ||
        !to_number(call_method(storage.ptr(), nbytes_name_), bytes))
      return false;
    facts.room = begin + bytes - std::int64_t(facts.address);
    return true;
  }

  bool read_by_table(PyObject* tensor, Facts& facts, Key& key, dlpack::Tensor& view) const {
    if (table_->tensor_from_object(tensor, &view) != 0) return false;
    const dlpack::Device device = view.device;
    if (device.type != dlpack::kCpu && device.type != dlpack::kCuda && device.type != dlpack::kRocm) return false;
    if (view.strides == nullptr && view.ndim > 0) return false;
    facts.address = reinterpret_cast<std::uintptr_t>(view.data) + view.byte_offset;
    facts.is_host = device.type == dlpack::kCpu;
    facts.device = device.index;
    key.add(std::uint64_t(view.dtype.code) << 32 | std::uint64_t(view.dtype.bits) << 16 | view.dtype.lanes);
    key.add(std::uint64_t(view.ndim));
    for (int d = 0; d < view.ndim; ++d) key.add(std::uint64_t(view.shape[d]));
    for (int d = 0; d < view.ndim; ++d) key.add(std::uint64_t(view.strides[d]));
    return true;
  }

  bool read_by_attributes(PyObject* tensor, Facts& facts, Key& key) const {
    facts.is_host = is_cpu_(tensor).ptr() == Py_True;
    if (!facts.is_host && is_cuda_(tensor).ptr() != Py_True) return false;
    long long address, device;
    if (!to_number(data_ptr_(tensor), address) || !to_number(get_device_(tensor), device)) return false;
    facts.address = std::uintptr_t(address);
    facts.device = std::int32_t(device);
    const nb::object dtype = dtype_(tensor);
    if (!dtype.is_valid()) return false;
    key.add_identity(dtype.ptr());
    return add_numbers(shape_(tensor), key) && add_numbers(stride_(tensor), key);
  }

  const dlpack::ExchangeApi* const table_;
  const TorchFunctions functions_;
  PyObject *stream_, *increment_version_;
  Method is_neg_, storage_, data_ptr_, get_device_, stride_, is_inference_;
  const Attribute requires_grad_{"requires_grad"}, is_cpu_{"is_cpu"}, is_cuda_{"is_cuda"};
  const Attribute dtype_{"dtype"}, shape_{"shape"};
  PyObject* const data_ptr_name_ = PyUnicode_InternFromString("data_ptr");
  PyObject* const nbytes_name_ = PyUnicode_InternFromString("nbytes");
};

}  // namespace

void replay_torch(nb::type_object type, nb::handle table, nb::object stream, nb::object increment_version,
                  nb::handle samples) {
  set_reader(type, new TorchReader(type, table, std::move(stream), std::move(increment_version), samples));
}

}  // namespace gpuport::launcher
