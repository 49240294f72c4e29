#include "facts.hpp"

#include <memory>
#include <vector>

#include "attribute.hpp"
#include "dlpack.hpp"

namespace gpuport::launcher {

namespace {

struct Known {
  PyTypeObject* type;
  const ArrayReader* reader;
};

std::vector<Known>& known() {
  static auto& all = *new std::vector<Known>;
  return all;
}

// Never freed, as the types: calls in other threads may be using it.
void set_reader(nb::type_object type, const ArrayReader* reader) {
  auto* const of = reinterpret_cast<PyTypeObject*>(type.ptr());
  for (Known& one : known())
    if (one.type == of) return void(one.reader = reader);
  type.inc_ref();
  known().push_back({of, reader});
}

nb::object call(PyObject* function, PyObject* argument) {
  return nb::steal(PyObject_Vectorcall(function, &argument, 1, nullptr));
}

nb::object call_method(PyObject* object, PyObject* name) {
  return nb::steal(PyObject_VectorcallMethod(name, &object, 1, nullptr));
}

// A method of the type, found once: calling it costs less than looking it up.
class Method {
 public:
  Method(nb::handle type, const char* name) : function_(nb::object(type.attr(name)).release().ptr()) {}
  nb::object operator()(PyObject* self) const { return call(function_, self); }

 private:
  PyObject* function_;
};

bool add_numbers(const nb::object& tuple, Key& key) {
  if (!tuple.is_valid() || !PyTuple_Check(tuple.ptr())) return false;
  const Py_ssize_t count = PyTuple_Size(tuple.ptr());
  key.add(std::uint64_t(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const long long number = PyLong_AsLongLong(PyTuple_GetItem(tuple.ptr(), i));
    if (number == -1 && PyErr_Occurred()) return false;
    key.add(std::uint64_t(number));
  }
  return true;
}

// Where the array is, as far as a kernel's choice of code depends on it: the device, and the place within 16 bytes.
void add_place(const Facts& facts, Key& key) {
  key.add(std::uint64_t(facts.is_host) << 63 | std::uint64_t(std::uint32_t(facts.device)) << 8 | (facts.address & 15));
}

class TorchReader final : public ArrayReader {
 public:
  TorchReader(nb::type_object type, nb::handle table, nb::object stream, nb::object increment_version)
      : table_(dlpack::exchange_api_of(table.ptr())),
        stream_(stream.release().ptr()),
        increment_version_(increment_version.release().ptr()),
        is_neg_(type, "is_neg"),
        storage_(type, "untyped_storage"),
        data_ptr_(type, "data_ptr"),
        get_device_(type, "get_device"),
        stride_(type, "stride"),
        is_inference_(type, "is_inference") {}

  bool read(PyObject* tensor, Facts& facts, Key& key) const override {
    // The table says nothing of these two.
    if (requires_grad_(tensor).ptr() != Py_False || is_neg_(tensor).ptr() != Py_False) return false;
    if (!(table_ != nullptr ? read_by_table(tensor, facts, key) : read_by_attributes(tensor, facts, key))) return false;
    add_place(facts, key);
    return facts.address != 0 && read_room(tensor, facts);
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
  bool read_by_table(PyObject* tensor, Facts& facts, Key& key) const {
    dlpack::Tensor view;
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

  // A storage can be resized after the tensor was made.
  bool read_room(PyObject* tensor, Facts& facts) const {
    const nb::object storage = storage_(tensor);
    long long begin, bytes;
    if (!storage.is_valid() || !to_number(call_method(storage.ptr(), data_ptr_name_), begin) ||
        !to_number(call_method(storage.ptr(), nbytes_name_), bytes))
      return false;
    facts.room = begin + bytes - std::int64_t(facts.address);
    return true;
  }

  const dlpack::ExchangeApi* table_;
  PyObject *stream_, *increment_version_;
  Method is_neg_, storage_, data_ptr_, get_device_, stride_, is_inference_;
  const Attribute requires_grad_{"requires_grad"}, is_cpu_{"is_cpu"}, is_cuda_{"is_cuda"};
  const Attribute dtype_{"dtype"}, shape_{"shape"};
  PyObject* const data_ptr_name_ = PyUnicode_InternFromString("data_ptr");
  PyObject* const nbytes_name_ = PyUnicode_InternFromString("nbytes");
};

class CupyReader final : public ArrayReader {
 public:
  CupyReader(nb::object stream, nb::handle c_stream) : stream_(stream.release().ptr()) {
    constexpr char kType[] = "intptr_t (int)";  // how Cython names what other modules may call
    if (PyCapsule_IsValid(c_stream.ptr(), kType))
      c_stream_ = reinterpret_cast<CStream>(PyCapsule_GetPointer(c_stream.ptr(), kType));
  }

  bool read(PyObject* array, Facts& facts, Key& key) const override {
    const nb::object data = data_(array), dtype = dtype_(array);
    long long address, device;
    if (!data.is_valid() || !dtype.is_valid() || !to_number(ptr_(data.ptr()), address) ||
        !to_number(device_id_(data.ptr()), device))
      return false;
    facts.address = std::uintptr_t(address);
    facts.device = std::int32_t(device);
    key.add_identity(dtype.ptr());
    add_place(facts, key);
    return add_numbers(shape_(array), key) && add_numbers(strides_(array), key);
  }

  bool current_stream(const Facts& facts, void*& stream) const override {
    if (c_stream_ != nullptr) {
      stream = reinterpret_cast<void*>(c_stream_(facts.device));
      return PyErr_Occurred() == nullptr;
    }
    const nb::object device = nb::steal(PyLong_FromLong(facts.device));
    const nb::object current = call(stream_, device.ptr());
    long long handle;
    if (!current.is_valid() || !to_number(handle_(current.ptr()), handle)) return false;
    stream = reinterpret_cast<void*>(handle);
    return true;
  }

 private:
  using CStream = std::intptr_t (*)(int);

  PyObject* const stream_;
  CStream c_stream_ = nullptr;
  const Attribute data_{"data"}, dtype_{"dtype"}, shape_{"shape"}, strides_{"strides"};
  const Attribute ptr_{"ptr"}, device_id_{"device_id"};  // of `data`
  const Attribute handle_{"ptr"};                        // of a stream
};

// The struct behind __array_struct__, as NumPy documents it.
struct ArrayStruct {
  int two, dimensions;
  char kind;
  int itemsize, flags;
  const Py_ssize_t *shape, *strides;  // strides in bytes
  void* data;
};

class NumpyReader final : public ArrayReader {
 public:
  bool read(PyObject* array, Facts& facts, Key& key) const override {
    const nb::object dtype = dtype_(array), capsule = array_struct_(array);
    if (!dtype.is_valid() || !capsule.is_valid()) return false;
    const auto* const view = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
    if (view == nullptr || view->two != 2) return false;
    facts.address = reinterpret_cast<std::uintptr_t>(view->data);
    facts.is_host = true;
    key.add_identity(dtype.ptr());
    add_place(facts, key);
    key.add(std::uint64_t(view->dimensions) << 32 | std::uint32_t(view->flags));  // whether it can be written
    for (int d = 0; d < view->dimensions; ++d) key.add(std::uint64_t(view->shape[d]));
    for (int d = 0; d < view->dimensions; ++d) key.add(std::uint64_t(view->strides[d]));
    return true;
  }

  bool current_stream(const Facts&, void*& stream) const override {
    stream = nullptr;
    return true;
  }

 private:
  const Attribute dtype_{"dtype"}, array_struct_{"__array_struct__"};
};

class DeviceArrayReader final : public ArrayReader {
 public:
  bool read(PyObject* array, Facts& facts, Key& key) const override {
    const nb::object view = view_(array);
    if (!view.is_valid()) return false;
    const nb::object place = place_(view.ptr()), dtype = dtype_(view.ptr()), readonly = readonly_(view.ptr());
    long long address, device;
    if (!place.is_valid() || !dtype.is_valid() || !readonly.is_valid()) return false;
    if (!to_number(address_(view.ptr()), address) || !to_number(device_(place.ptr()), device)) return false;
    facts.address = std::uintptr_t(address);
    facts.device = std::int32_t(device);
    add_place(facts, key);
    const nb::object backend = backend_(place.ptr());
    return backend.is_valid() && key.add_value(backend.ptr()) && key.add_value(dtype.ptr()) &&
           key.add_value(readonly.ptr()) && add_numbers(shape_(view.ptr()), key) &&
           add_numbers(strides_(view.ptr()), key);
  }

  // What orders the work is the caller, by a stream that the whole way knows; else it is the default one.
  bool current_stream(const Facts&, void*& stream) const override {
    stream = nullptr;
    return true;
  }

 private:
  const Attribute view_{"view"}, place_{"place"}, backend_{"backend"}, device_{"device"}, dtype_{"dtype"};
  const Attribute address_{"address"}, shape_{"shape"}, strides_{"strides"}, readonly_{"readonly"};
};

}  // namespace

void replay_torch(nb::type_object type, nb::handle table, nb::object stream, nb::object increment_version) {
  set_reader(type, new TorchReader(type, table, std::move(stream), std::move(increment_version)));
}

void replay_cupy(nb::type_object type, nb::object stream, nb::handle c_stream) {
  set_reader(type, new CupyReader(std::move(stream), c_stream));
}

void replay_numpy(nb::type_object type) { set_reader(type, new NumpyReader); }

void replay_device_array(nb::type_object type) { set_reader(type, new DeviceArrayReader); }

const ArrayReader* reader_of(PyTypeObject* type) {
  for (const Known& one : known())
    if (one.type == type) return one.reader;
  return nullptr;
}

}  // namespace gpuport::launcher
