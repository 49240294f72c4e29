// CuPy's arrays, through attributes that its classes have getters in C for.
#include "libraries.hpp"

namespace gpuport::launcher {

namespace {

class CupyArrays : public Library {
 public:
  CupyArrays(Backend backend, Dtypes dtypes, nb::object current_stream, nb::handle c_stream)
      : backend_(backend), dtypes_(std::move(dtypes)), current_stream_(std::move(current_stream)) {
    // What CuPy's own launches ask, published for other Cython modules under the type of the C function.
    constexpr char kType[] = "intptr_t (int)";
    if (PyCapsule_IsValid(c_stream.ptr(), kType))
      c_stream_ = reinterpret_cast<CStream>(PyCapsule_GetPointer(c_stream.ptr(), kType));
  }

  bool read(PyObject* value, const Place& place, bool with_bytes, Array& array) const override {
    long long device, address, bytes = 0;
    if (place.backend != backend_) return false;
    const nb::object data = data_(value);
    if (!data.is_valid() || !to_number(device_id_(data.ptr()), device) || device != place.device) return false;
    if (c_contiguous_(value).ptr() != Py_True) return false;
    const nb::object dtype = dtype_(value);
    const Element* const element = dtypes_.find(dtype.ptr());
    if (!dtype.is_valid() || element == nullptr) return false;
    array.element = *element;
    if (!to_number(address_(data.ptr()), address) || (with_bytes && !to_number(nbytes_(value), bytes))) return false;
    array.address = std::uintptr_t(address);
    array.bytes = std::uint64_t(bytes);
    array.readonly = false;
    return true;
  }

  bool has_streams() const override { return true; }

  std::uintptr_t current_stream(const Place& place) const override {
    if (c_stream_ == nullptr) return nb::cast<std::uintptr_t>(current_stream_(place.device));
    const auto handle = std::uintptr_t(c_stream_(place.device));
    if (PyErr_Occurred()) throw nb::python_error();
    return handle;
  }

 private:
  using CStream = std::intptr_t (*)(int);

  const Backend backend_;
  const Dtypes dtypes_;
  const nb::object current_stream_;
  CStream c_stream_ = nullptr;
  const Attribute data_{"data"}, dtype_{"dtype"}, c_contiguous_{"_c_contiguous"}, nbytes_{"nbytes"};
  const Attribute address_{"ptr"}, device_id_{"device_id"};  // of `data`
};

}  // namespace

std::unique_ptr<Library> make_cupy(Backend backend, Dtypes dtypes, nb::object current_stream, nb::handle c_stream) {
  return std::make_unique<CupyArrays>(backend, std::move(dtypes), std::move(current_stream), c_stream);
}

}  // namespace gpuport::launcher
