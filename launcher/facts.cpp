#include "facts.hpp"

#include <memory>
#include <vector>

#include "attribute.hpp"
#include "reading.hpp"

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

// Never freed, as the types: calls in other threads may be using it.
void set_reader(nb::type_object type, const ArrayReader* reader) {
  auto* const of = reinterpret_cast<PyTypeObject*>(type.ptr());
  for (Known& one : known())
    if (one.type == of) return void(one.reader = reader);
  type.inc_ref();
  known().push_back({of, reader});
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
