// What a launch reads of DLPack 1.3: the tensor, and the table of C functions that a library's array type carries, with
// which a tensor is read in one call and without Python.
#pragma once

#include <Python.h>

#include <cstdint>

namespace gpuport::launcher::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kRocm = 10 };
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct Device {
  std::int32_t type;
  std::int32_t index;
};

struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null where the tensor is contiguous
  std::uint64_t byte_offset;
};

struct ExchangeApi {
  std::uint32_t major, minor;
  ExchangeApi* previous;  // an older version of the table
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  // The tensor borrows all that it points to from the object. Not 0: an error is set.
  int (*tensor_from_object)(void* object, Tensor* tensor);
  int (*current_work_stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

inline constexpr char kAttribute[] = "__dlpack_c_exchange_api__", kCapsule[] = "dlpack_exchange_api";

static_assert(sizeof(Tensor) == 48 && sizeof(ExchangeApi) == 56);

// The table that an array type has under that attribute. Null for another object than a capsule of a table that this
// code knows.
inline const ExchangeApi* exchange_api_of(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kCapsule)) return nullptr;
  auto* api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule, kCapsule));
  while (api != nullptr && api->major != 1) api = api->previous;
  return api != nullptr && api->tensor_from_object != nullptr ? api : nullptr;
}

}  // namespace gpuport::launcher::dlpack
