// PyTorch's tensors: in one call through DLPack's C functions where the type has them, else through their methods.
#include "dlpack.hpp"
#include "libraries.hpp"

namespace gpuport::launcher {

namespace {

bool element_of(dlpack::DataType dtype, Element& element) {
  if (dtype.lanes != 1 || dtype.bits % 8 != 0) return false;
  element.size = dtype.bits / 8u;
  switch (dtype.code) {
    case dlpack::kInt:
      return element.kind = Kind::kSigned, true;
    case dlpack::kUInt:
      return element.kind = Kind::kUnsigned, true;
    case dlpack::kFloat:
      return element.kind = dtype.bits == 16 ? Kind::kHalf : Kind::kFloat, true;
    case dlpack::kBfloat:
      return element.kind = Kind::kBfloat16, true;
    case dlpack::kBool:
      return element.kind = Kind::kBool, true;
    default:
      return false;
  }
}

// Also tells how many elements there are.
bool is_contiguous(const dlpack::Tensor& tensor, std::uint64_t& count) {
  std::int64_t step = 1;
  bool is_packed = true;
  for (int d = tensor.ndim; d-- > 0;) {
    if (tensor.strides != nullptr && tensor.shape[d] != 1 && tensor.strides[d] != step) is_packed = false;
    step *= tensor.shape[d];
  }
  count = std::uint64_t(step);
  return is_packed || step == 0;
}

std::int32_t device_type_of(Backend backend) {
  return backend == Backend::kCpu ? dlpack::kCpu : backend == Backend::kCuda ? dlpack::kCuda : dlpack::kRocm;
}

class TorchTensors : public Library {
 public:
  TorchTensors(nb::handle type, Backend backend, Dtypes dtypes, nb::object current_stream)
      : api_(dlpack::exchange_api_of(nb::getattr(type, dlpack::kAttribute, nb::none()).ptr())),
        backend_(backend),
        dtypes_(std::move(dtypes)),
        current_stream_(std::move(current_stream)) {}

  bool read(PyObject* value, const Place& place, bool with_bytes, Array& array) const override {
    if (place.backend != backend_ && !place.is_host()) return false;
    // Neither is in what DLPack tells: what a gradient would be lost for, and whose elements are to be negated.
    if (requires_grad_(value).ptr() != Py_False || call(value, is_neg_).ptr() != Py_False) return false;
    array.readonly = false;
    return api_ != nullptr ? read_exchanged(value, place, array) : read_methods(value, place, with_bytes, array);
  }

  bool has_streams() const override { return true; }

  std::uintptr_t current_stream(const Place& place) const override {
    void* handle = nullptr;
    if (api_ != nullptr && api_->current_work_stream != nullptr) {
      if (api_->current_work_stream(device_type_of(place.backend), place.device, &handle) == 0)
        return reinterpret_cast<std::uintptr_t>(handle);
      PyErr_Clear();
    }
    return nb::cast<std::uintptr_t>(current_stream_(place.device));
  }

 private:
  static nb::object call(PyObject* object, PyObject* method) {
    return nb::steal(PyObject_VectorcallMethod(method, &object, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  }

  bool read_exchanged(PyObject* value, const Place& place, Array& array) const {
    dlpack::Tensor tensor;
    std::uint64_t count;
    if (api_->tensor_from_object(value, &tensor) != 0) return false;
    if (tensor.device.type != device_type_of(place.backend)) return false;
    if (!place.is_host() && tensor.device.index != place.device) return false;
    if (!element_of(tensor.dtype, array.element) || !is_contiguous(tensor, count)) return false;
    if (tensor.data == nullptr && count != 0) return false;  // freed
    array.address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
    array.bytes = count * array.element.size;
    return true;
  }

  bool read_methods(PyObject* value, const Place& place, bool with_bytes, Array& array) const {
    long long device, address, count = 0;
    if (!to_number(call(value, get_device_), device) || device != (place.is_host() ? -1 : place.device)) return false;
    if (call(value, is_contiguous_).ptr() != Py_True) return false;
    const nb::object dtype = dtype_(value);
    const Element* const element = dtypes_.find(dtype.ptr());
    if (!dtype.is_valid() || element == nullptr) return false;
    array.element = *element;
    if (!to_number(call(value, data_ptr_), address) || address == 0) return false;
    if (with_bytes && !to_number(call(value, numel_), count)) return false;
    array.address = std::uintptr_t(address);
    array.bytes = std::uint64_t(count) * array.element.size;
    return true;
  }

  const dlpack::ExchangeApi* const api_;
  const Backend backend_;
  const Dtypes dtypes_;
  const nb::object current_stream_;
  const Attribute requires_grad_{"requires_grad"}, dtype_{"dtype"};
  PyObject* const is_neg_ = PyUnicode_InternFromString("is_neg");
  PyObject* const get_device_ = PyUnicode_InternFromString("get_device");
  PyObject* const is_contiguous_ = PyUnicode_InternFromString("is_contiguous");
  PyObject* const data_ptr_ = PyUnicode_InternFromString("data_ptr");
  PyObject* const numel_ = PyUnicode_InternFromString("numel");
};

}  // namespace

std::unique_ptr<Library> make_torch(nb::handle type, Backend backend, Dtypes dtypes, nb::object current_stream) {
  return std::make_unique<TorchTensors>(type, backend, std::move(dtypes), std::move(current_stream));
}

}  // namespace gpuport::launcher
