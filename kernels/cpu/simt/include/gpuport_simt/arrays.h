// Arrays of one to three dimensions, textures and surfaces: their host functions. An array is linear memory; there are
// no layers, cube maps or mipmaps.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>

struct cudaArray {
  cudaChannelFormatDesc format;
  cudaExtent extent;  // in elements; a height or depth of 0 is a dimension that it has not
  unsigned flags;
  char* memory;

  std::size_t element_bytes() const { return std::size_t(format.x + format.y + format.z + format.w) / 8; }
  std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
  std::size_t planes() const { return extent.depth == 0 ? 1 : extent.depth; }
  std::size_t pitch() const { return extent.width * element_bytes(); }
  std::size_t bytes() const { return pitch() * rows() * planes(); }
};

namespace gpuport::simt {

// What a texture or surface object points to: elements in memory, and how they are read.
struct Image {
  const char* memory;
  cudaChannelFormatDesc format;
  std::size_t width, height, depth, pitch;  // elements, and bytes of a row
  cudaResourceDesc resource;
  cudaTextureDesc texture;
};

inline bool is_format(const cudaChannelFormatDesc& format) {
  const int bits[] = {format.x, format.y, format.z, format.w};
  int count = 0;
  while (count < 4 && bits[count] == bits[0]) ++count;
  for (int i = count; i < 4; ++i)
    if (bits[i] != 0) return false;
  const bool whole = bits[0] == 8 || bits[0] == 16 || bits[0] == 32;
  return whole && count != 3 && format.f <= cudaChannelFormatKindFloat &&
         (format.f != cudaChannelFormatKindFloat || bits[0] >= 16);
}
inline bool make_image(Image& image, const cudaResourceDesc& resource) {
  image.resource = resource;
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const cudaArray* const array = resource.res.array.array;
      if (array == nullptr) return false;
      image.memory = array->memory;
      image.format = array->format;
      image.width = array->extent.width, image.height = array->rows(), image.depth = array->planes();
      image.pitch = array->pitch();
      return true;
    }
    case cudaResourceTypeLinear: {
      const auto& linear = resource.res.linear;
      if (!is_format(linear.desc)) return false;
      const cudaArray element{linear.desc, {}, 0, nullptr};
      image.memory = static_cast<const char*>(linear.devPtr);
      image.format = linear.desc;
      image.width = linear.sizeInBytes / element.element_bytes();
      image.height = image.depth = 1;
      image.pitch = linear.sizeInBytes;
      return image.memory != nullptr;
    }
    case cudaResourceTypePitch2D: {
      const auto& plane = resource.res.pitch2D;
      image.memory = static_cast<const char*>(plane.devPtr);
      image.format = plane.desc;
      image.width = plane.width, image.height = plane.height, image.depth = 1;
      image.pitch = plane.pitchInBytes;
      return image.memory != nullptr && is_format(plane.desc);
    }
    default:
      return false;
  }
}

}  // namespace gpuport::simt

constexpr cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
template <typename T>
constexpr cudaChannelFormatDesc cudaCreateChannelDesc() {
  using gpuport::simt::Components;
  using Part = typename Components<T>::Part;
  constexpr int kBits = int(sizeof(Part)) * 8, kCount = Components<T>::kCount;
  return {kBits, kCount > 1 ? kBits : 0, kCount > 2 ? kBits : 0, kCount > 3 ? kBits : 0,
          std::is_floating_point_v<Part> ? cudaChannelFormatKindFloat
          : std::is_signed_v<Part>       ? cudaChannelFormatKindSigned
                                         : cudaChannelFormatKindUnsigned};
}

inline cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                     unsigned flags = 0) {
  if (array == nullptr || format == nullptr || extent.width == 0 || !gpuport::simt::is_format(*format))
    return cudaErrorInvalidValue;
  if ((flags & ~unsigned(cudaArraySurfaceLoadStore)) != 0)
    return gpuport::simt::not_supported("cudaMalloc3DArray", "arrays have no layers, cube maps or gathers");
  auto* const made = new cudaArray{*format, extent, flags, nullptr};
  made->memory = static_cast<char*>(std::calloc(made->bytes(), 1));
  if (made->memory == nullptr) {
    delete made;
    return cudaErrorMemoryAllocation;
  }
  *array = made;
  return cudaSuccess;
}
inline cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, std::size_t width,
                                   std::size_t height = 0, unsigned flags = 0) {
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
inline cudaError_t cudaFreeArray(cudaArray_t array) {
  if (array == nullptr) return cudaSuccess;
  std::free(array->memory);
  delete array;
  return cudaSuccess;
}
inline cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                                    cudaArray_t array) {
  if (array == nullptr) return cudaErrorInvalidResourceHandle;
  if (format != nullptr) *format = array->format;
  if (extent != nullptr) *extent = array->extent;
  if (flags != nullptr) *flags = array->flags;
  return cudaSuccess;
}
inline cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  return *format = array->format, cudaSuccess;
}

// Offsets and widths in bytes.
inline cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                       std::size_t pitch, std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (to == nullptr || x + width > to->pitch() || y + height > to->rows()) return cudaErrorInvalidValue;
  return cudaMemcpy2D(to->memory + y * to->pitch() + x, to->pitch(), from, pitch, width, height, kind);
}
inline cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x,
                                         std::size_t y, std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (from == nullptr || x + width > from->pitch() || y + height > from->rows()) return cudaErrorInvalidValue;
  return cudaMemcpy2D(to, pitch, from->memory + y * from->pitch() + x, from->pitch(), width, height, kind);
}
inline cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                            std::size_t pitch, std::size_t width, std::size_t height,
                                            cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy2DToArray(to, x, y, from, pitch, width, height, kind);
}
inline cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x,
                                              std::size_t y, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                                              cudaStream_t = nullptr) {
  return cudaMemcpy2DFromArray(to, pitch, from, x, y, width, height, kind);
}
inline cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
  if (to == nullptr || y * to->pitch() + x + bytes > to->bytes()) return cudaErrorInvalidValue;
  return cudaMemcpy(to->memory + y * to->pitch() + x, from, bytes, kind);
}
inline cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y,
                                       std::size_t bytes, cudaMemcpyKind kind) {
  if (from == nullptr || y * from->pitch() + x + bytes > from->bytes()) return cudaErrorInvalidValue;
  return cudaMemcpy(to, from->memory + y * from->pitch() + x, bytes, kind);
}
// The extent counts elements where there is an array, else bytes; so do positions in an array and in memory.
inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
  const cudaArray* const array = copy->srcArray != nullptr ? copy->srcArray : copy->dstArray;
  const std::size_t unit = array != nullptr ? array->element_bytes() : 1, width = copy->extent.width * unit;
  const auto place = [](cudaArray_t held, const cudaPitchedPtr& memory, const cudaPos& at, std::size_t z,
                        std::size_t* pitch) {
    const std::size_t rows = held != nullptr ? held->rows() : memory.ysize;
    *pitch = held != nullptr ? held->pitch() : memory.pitch;
    char* const start = held != nullptr ? held->memory : static_cast<char*>(memory.ptr);
    return start + ((at.z + z) * rows + at.y) * *pitch + at.x * (held != nullptr ? held->element_bytes() : 1);
  };
  for (std::size_t z = 0; z < copy->extent.depth; ++z) {
    std::size_t from_pitch = 0, to_pitch = 0;
    const char* const from = place(copy->srcArray, copy->srcPtr, copy->srcPos, z, &from_pitch);
    char* const to = place(copy->dstArray, copy->dstPtr, copy->dstPos, z, &to_pitch);
    const cudaError_t error = cudaMemcpy2D(to, to_pitch, from, from_pitch, width, copy->extent.height, copy->kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t = nullptr) {
  return cudaMemcpy3D(copy);
}

inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                           const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  auto* const image = new gpuport::simt::Image{};
  if (object == nullptr || resource == nullptr || texture == nullptr || view != nullptr ||
      !gpuport::simt::make_image(*image, *resource)) {
    delete image;
    return cudaErrorInvalidValue;
  }
  if (texture->filterMode == cudaFilterModeLinear && texture->readMode == cudaReadModeElementType &&
      image->format.f != cudaChannelFormatKindFloat) {
    delete image;
    return cudaErrorInvalidFilterSetting;
  }
  image->texture = *texture;
  *object = reinterpret_cast<cudaTextureObject_t>(image);
  return cudaSuccess;
}
inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  delete reinterpret_cast<gpuport::simt::Image*>(object);
  return cudaSuccess;
}
inline cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t object) {
  return *resource = reinterpret_cast<gpuport::simt::Image*>(object)->resource, cudaSuccess;
}
inline cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  return *texture = reinterpret_cast<gpuport::simt::Image*>(object)->texture, cudaSuccess;
}
inline cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  auto* const image = new gpuport::simt::Image{};
  if (object == nullptr || resource == nullptr || resource->resType != cudaResourceTypeArray ||
      !gpuport::simt::make_image(*image, *resource)) {
    delete image;
    return cudaErrorInvalidValue;
  }
  *object = reinterpret_cast<cudaSurfaceObject_t>(image);
  return cudaSuccess;
}
inline cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) { return cudaDestroyTextureObject(object); }
inline cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t object) {
  return cudaGetTextureObjectResourceDesc(resource, object);
}
