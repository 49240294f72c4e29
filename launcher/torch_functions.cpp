#include "torch_functions.hpp"

#include <dlfcn.h>

namespace gpuport::launcher {

namespace {

template <typename F>
bool look_up(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

TorchFunctions::TorchFunctions(nb::handle samples) {
  // Of the library that is loaded, which stays so: its type is known here.
  void* const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr || samples.is_none()) return;
  const bool are_there = look_up(library, "aoti_torch_get_storage_offset", get_storage_offset_) &&
                         look_up(library, "aoti_torch_get_storage_size", get_storage_size_) &&
                         look_up(library, "_ZN2at6native6is_negERKNS_6TensorE", is_neg_) &&
                         look_up(library, "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE", bump_version_);
  if (!are_there) return;
  are_found_ = true;
  for (const nb::handle sample : samples) are_found_ = are_found_ && answer_as_methods(sample);
}

bool TorchFunctions::answer_as_methods(nb::handle sample) const {
  const auto number = [&](const char* method) { return nb::cast<std::int64_t>(sample.attr(method)()); };
  const auto version = [&] { return nb::cast<std::int64_t>(sample.attr("_version")); };
  Tensor tensor;
  std::int64_t offset, bytes;
  if (!tensor_of(sample.ptr(), tensor)) throw nb::python_error();
  if (is_neg(tensor) != nb::cast<bool>(sample.attr("is_neg")())) return false;
  if (!storage_of(tensor, offset, bytes) || offset != number("storage_offset")) return false;
  if (bytes != nb::cast<std::int64_t>(sample.attr("untyped_storage")().attr("nbytes")())) return false;
  const std::int64_t before = version();
  return bump_version(tensor) && version() == before + 1;
}

bool TorchFunctions::tensor_of(PyObject* object, Tensor& tensor) const {
  const nb::object address = cdata_(object);
  if (!address.is_valid()) return false;
  tensor.implementation = PyLong_AsVoidPtr(address.ptr());
  return tensor.implementation != nullptr;
}

bool TorchFunctions::bump_version(const Tensor& tensor) const {
  try {
    bump_version_(&tensor);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace gpuport::launcher
