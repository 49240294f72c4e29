// gpuport.DeviceArray, whose view says where it is. It has no streams: the caller names one, or it is stream 0.
#include <string_view>

#include "libraries.hpp"

namespace gpuport::launcher {

namespace {

// False for a tuple of anything but numbers.
bool number_at(PyObject* tuple, Py_ssize_t index, long long& number) {
  PyObject* const item = PyTuple_GetItem(tuple, index);
  return item != nullptr && to_number(nb::borrow(item), number);
}

class DeviceArrays : public Library {
 public:
  explicit DeviceArrays(const nb::dict& elements) {
    for (const auto& [name, pair] : elements)
      elements_.emplace_back(nb::cast<std::string>(name),
                             Element{Kind(nb::cast<int>(pair[0])), nb::cast<std::uint32_t>(pair[1])});
  }

  bool read(PyObject* value, const Place& place, bool, Array& array) const override {
    const nb::object view = view_(value);
    if (!view.is_valid() || !is_at(place, place_(view.ptr()))) return false;
    long long address, count;
    if (!find_element(dtype_(view.ptr()), array.element) || !to_number(address_(view.ptr()), address)) return false;
    if (!is_contiguous(shape_(view.ptr()), strides_(view.ptr()), count)) return false;
    array.address = std::uintptr_t(address);
    array.bytes = std::uint64_t(count) * array.element.size;
    array.readonly = readonly_(view.ptr()).ptr() != Py_False;
    return true;
  }

  bool has_streams() const override { return false; }
  std::uintptr_t current_stream(const Place&) const override { return 0; }

 private:
  bool is_at(const Place& place, const nb::object& own) const {
    constexpr const char* kNames[] = {"cpu", "cuda", "hip"};
    if (!own.is_valid()) return false;
    const nb::object backend = backend_(own.ptr());
    long long device;
    return backend.is_valid() && PyUnicode_CompareWithASCIIString(backend.ptr(), kNames[int(place.backend)]) == 0 &&
           to_number(device_(own.ptr()), device) && device == place.device;
  }

  bool find_element(const nb::object& dtype, Element& element) const {
    Py_ssize_t length;
    const char* const text = dtype.is_valid() ? PyUnicode_AsUTF8AndSize(dtype.ptr(), &length) : nullptr;
    if (text == nullptr) return false;
    for (const auto& [name, known] : elements_) {
      if (name != std::string_view(text, std::size_t(length))) continue;
      element = known;
      return true;
    }
    return false;
  }

  // Also tells how many elements there are.
  static bool is_contiguous(const nb::object& shape, const nb::object& strides, long long& count) {
    if (!shape.is_valid() || !strides.is_valid()) return false;
    bool is_packed = true;
    count = 1;
    for (Py_ssize_t d = PyTuple_Size(shape.ptr()); d-- > 0;) {
      long long extent, stride;
      if (!number_at(shape.ptr(), d, extent) || !number_at(strides.ptr(), d, stride)) return false;
      if (extent != 1 && stride != count) is_packed = false;
      count *= extent;
    }
    return is_packed || count == 0;
  }

  std::vector<std::pair<std::string, Element>> elements_;  // a dozen
  const Attribute view_{"view"}, place_{"place"}, backend_{"backend"}, device_{"device"}, dtype_{"dtype"};
  const Attribute address_{"address"}, shape_{"shape"}, strides_{"strides"}, readonly_{"readonly"};
};

}  // namespace

std::unique_ptr<Library> make_device_arrays(const nb::dict& elements) {
  return std::make_unique<DeviceArrays>(elements);
}

}  // namespace gpuport::launcher
