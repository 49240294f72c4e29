// Functions of PyTorch's own library, in which methods of its tensors end. A method gives up the interpreter's lock,
// sets a handler of warnings and makes an object of its answer: for five answers that takes longer than all else that
// stands between a call and its launch.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "attribute.hpp"

namespace gpuport::launcher {

class TorchFunctions {
 public:
  // Looks for them in the process. They are only used if they answer as the methods do for these tensors.
  explicit TorchFunctions(nb::handle samples);
  bool are_found() const { return are_found_; }

  // A tensor as C++ knows it: one pointer, which Python has under the name `_cdata`. It is borrowed from the object.
  struct Tensor {
    const void* implementation;
  };
  bool tensor_of(PyObject* object, Tensor& tensor) const;  // false with an error set

  bool is_neg(const Tensor& tensor) const { return is_neg_(&tensor); }
  // Elements before the first one of the tensor, and the bytes that there are in all.
  bool storage_of(const Tensor& tensor, std::int64_t& offset, std::int64_t& bytes) const {
    return get_storage_offset_(&tensor, &offset) == 0 && get_storage_size_(&tensor, &bytes) == 0;
  }
  // False where it has to be left to the method, as for a tensor that has no version.
  bool bump_version(const Tensor& tensor) const;

 private:
  bool answer_as_methods(nb::handle sample) const;

  // Of the C interface that PyTorch keeps for compiled models, whose binary form does not change.
  using GetNumber = std::int32_t (*)(const Tensor*, std::int64_t*);
  GetNumber get_storage_offset_, get_storage_size_;
  // Of its C++: (const at::Tensor&). The name in the library says what is taken, but not what is given.
  bool (*is_neg_)(const Tensor*);
  void (*bump_version_)(const Tensor*);
  const Attribute cdata_{"_cdata"};
  bool are_found_ = false;
};

}  // namespace gpuport::launcher
