// Reading textures, reading and writing surfaces.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>

#include "narrow_float.h"

namespace gpuport::simt {

// What a fetch asks for or gives, as CUDA writes it: float4, uchar2.
inline void write_type(char (&text)[24], cudaChannelFormatKind kind, int bits, int count) {
  const bool is_float = kind == cudaChannelFormatKindFloat;
  const char* const integer = bits == 8 ? "char" : bits == 16 ? "short" : bits == 32 ? "int" : "long long";
  const char* const name = !is_float ? integer : bits == 16 ? "half" : bits == 32 ? "float" : "double";
  const char* const sign = kind != cudaChannelFormatKindUnsigned ? "" : count > 1 ? "u" : "unsigned ";
  const char number[] = {char(count > 1 ? '0' + count : 0), 0};
  std::snprintf(text, sizeof text, "%s%s%s", sign, name, number);
}
[[noreturn, gnu::noinline]] inline void refuse_texel(const Image& image, cudaChannelFormatKind kind, int bits,
                                                     int count, Site site) {
  const cudaChannelFormatDesc& format = image.format;
  char asked[24], texel[24], text[160];
  write_type(asked, kind, bits, count);
  write_type(texel, format.f, format.x, (format.x + format.y + format.z + format.w) / format.x);
  const bool unit = format.f != cudaChannelFormatKindFloat && image.texture.readMode == cudaReadModeNormalizedFloat;
  std::snprintf(text, sizeof text, "a fetch of %s from a texture of %s%s, which CUDA leaves undefined,", asked, texel,
                unit ? " that is read as float (cudaReadModeNormalizedFloat)" : "");
  trap(text, site);
}
// A float is fetched where texels are floats or are read as such, and an integer where they are not. Widths and counts
// may differ: the GPU converts registers of 32 bits.
template <typename T>
void check_texel(const Image& image, Site site) {
  using Part = typename Components<T>::Part;
  constexpr bool kIsInteger = std::is_integral_v<Part>;
  const bool floats =
      image.format.f == cudaChannelFormatKindFloat || image.texture.readMode == cudaReadModeNormalizedFloat;
  if (floats != kIsInteger) [[likely]]
    return;
  constexpr auto kKind = !kIsInteger              ? cudaChannelFormatKindFloat
                         : std::is_signed_v<Part> ? cudaChannelFormatKindSigned
                                                  : cudaChannelFormatKindUnsigned;
  refuse_texel(image, kKind, int(8 * sizeof(Part)), Components<T>::kCount, site);
}

// Where along a dimension of `count` elements an index comes out; -1 outside a border. Wrapping and mirroring are for
// normalised coordinates, others are clamped instead.
inline long long addressed(long long index, long long count, cudaTextureAddressMode mode, bool normalized) {
  if (index >= 0 && index < count) return index;
  if (mode == cudaAddressModeBorder) return -1;
  if (!normalized || mode == cudaAddressModeClamp) return index < 0 ? 0 : count - 1;
  const long long period = mode == cudaAddressModeWrap ? count : 2 * count;
  const long long at = (index % period + period) % period;
  return at < count ? at : 2 * count - 1 - at;
}

struct Texel {
  double part[4];
};
inline double part_of(const char* memory, int bits, cudaChannelFormatKind kind, bool unit) {
  if (kind == cudaChannelFormatKindFloat) {
    if (bits == 16) {
      unsigned short half;
      std::memcpy(&half, memory, sizeof half);
      return widen_half(half);
    }
    float value;
    std::memcpy(&value, memory, sizeof value);
    return value;
  }
  unsigned word = 0;
  std::memcpy(&word, memory, std::size_t(bits) / 8);
  const double most = std::ldexp(1.0, bits - (kind == cudaChannelFormatKindSigned)) - 1;
  double value = word;
  if (kind == cudaChannelFormatKindSigned && (word >> (bits - 1)) != 0) value -= std::ldexp(1.0, bits);
  return unit ? std::fmax(value / most, -1.0) : value;
}
inline Texel texel_at(const Image& image, long long x, long long y, long long z) {
  const cudaChannelFormatDesc& format = image.format;
  const cudaTextureDesc& how = image.texture;
  const bool normalized = how.normalizedCoords != 0;
  x = addressed(x, (long long)(image.width), how.addressMode[0], normalized);
  y = addressed(y, (long long)(image.height), how.addressMode[1], normalized);
  z = addressed(z, (long long)(image.depth), how.addressMode[2], normalized);
  Texel texel{};
  const int bits[] = {format.x, format.y, format.z, format.w};
  if (x < 0 || y < 0 || z < 0) {
    for (int i = 0; i < 4 && bits[i] != 0; ++i) texel.part[i] = how.borderColor[i];
    return texel;
  }
  const std::size_t element = std::size_t(format.x + format.y + format.z + format.w) / 8;
  const char* memory =
      image.memory + (std::size_t(z) * image.height + std::size_t(y)) * image.pitch + std::size_t(x) * element;
  for (int i = 0; i < 4 && bits[i] != 0; ++i, memory += format.x / 8)
    texel.part[i] = part_of(memory, bits[i], format.f, how.readMode == cudaReadModeNormalizedFloat);
  return texel;
}

// One dimension of a position: the element below, and how far it is to the next, in steps of 1/256 as on the GPU.
struct Between {
  long long below;
  double share;
};
inline Between between(float at, std::size_t count, const cudaTextureDesc& how) {
  // No dimension comes near 2^40, which keeps the sums below exact; a NaN counts as 0.
  constexpr double kFar = 0x1p40;
  const double wanted = how.normalizedCoords != 0 ? double(at) * double(count) : double(at);
  const double place = std::isnan(wanted) ? 0 : std::fmin(std::fmax(wanted, -kFar), kFar);
  if (how.filterMode == cudaFilterModePoint) return {(long long)(std::floor(place)), 0};
  const double below = std::floor(place - 0.5);
  return {(long long)(below), std::nearbyint((place - 0.5 - below) * 256) / 256};
}

template <typename T>
T sample(cudaTextureObject_t object, float x, float y, float z, int dimensions, Site site) {
  const Image& image = *reinterpret_cast<const Image*>(object);
  check_texel<T>(image, site);
  constexpr Between kNone{0, 0};
  const Between at[] = {between(x, image.width, image.texture),
                        dimensions > 1 ? between(y, image.height, image.texture) : kNone,
                        dimensions > 2 ? between(z, image.depth, image.texture) : kNone};
  Texel sum{};
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1;
    long long index[3];
    for (unsigned d = 0; d < 3; ++d) {
      const bool next = (corner >> d & 1) != 0;
      weight *= next ? at[d].share : 1 - at[d].share;
      index[d] = at[d].below + next;
    }
    if (weight == 0) continue;
    const Texel texel = texel_at(image, index[0], index[1], index[2]);
    for (int i = 0; i < 4; ++i) sum.part[i] += weight * texel.part[i];
  }
  return from_parts<T>(sum.part);
}

// Where an element of a surface is; null where a read gives zeros and a write does nothing.
template <typename T>
char* surface_element(cudaSurfaceObject_t object, long long bytes, long long y, long long z,
                      cudaSurfaceBoundaryMode mode, Site site) {
  const Image& image = *reinterpret_cast<const Image*>(object);
  const long long last = (long long)(image.pitch - sizeof(T));
  const long long most[] = {last, (long long)(image.height) - 1, (long long)(image.depth) - 1};
  long long at[] = {bytes, y, z};
  for (int d = 0; d < 3; ++d) {
    if (at[d] >= 0 && at[d] <= most[d]) continue;
    if (mode == cudaBoundaryModeTrap) trap("an access outside of a surface", site);
    if (mode == cudaBoundaryModeZero) return nullptr;
    at[d] = at[d] < 0 ? 0 : most[d];
  }
  return const_cast<char*>(image.memory) + (std::size_t(at[2]) * image.height + std::size_t(at[1])) * image.pitch +
         at[0];
}
template <typename T>
T read_surface(cudaSurfaceObject_t object, int x, int y, int z, cudaSurfaceBoundaryMode mode, Site site) {
  T value{};
  if (const char* const from = surface_element<T>(object, x, y, z, mode, site)) std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
void write_surface(T value, cudaSurfaceObject_t object, int x, int y, int z, cudaSurfaceBoundaryMode mode, Site site) {
  if (char* const to = surface_element<T>(object, x, y, z, mode, site)) std::memcpy(to, &value, sizeof(T));
}

}  // namespace gpuport::simt

// Of linear memory, by the number of the element; outside of it, 0.
template <typename T>
T tex1Dfetch(cudaTextureObject_t object, int index, GPUPORT_SIMT_SITE) {
  const auto& image = *reinterpret_cast<const gpuport::simt::Image*>(object);
  gpuport::simt::check_texel<T>(image, site);
  if (index < 0 || std::size_t(index) >= image.width) return T{};
  return gpuport::simt::from_parts<T>(gpuport::simt::texel_at(image, index, 0, 0).part);
}
template <typename T>
T tex1D(cudaTextureObject_t object, float x, GPUPORT_SIMT_SITE) {
  return gpuport::simt::sample<T>(object, x, 0, 0, 1, site);
}
template <typename T>
T tex2D(cudaTextureObject_t object, float x, float y, GPUPORT_SIMT_SITE) {
  return gpuport::simt::sample<T>(object, x, y, 0, 2, site);
}
template <typename T>
T tex3D(cudaTextureObject_t object, float x, float y, float z, GPUPORT_SIMT_SITE) {
  return gpuport::simt::sample<T>(object, x, y, z, 3, site);
}
template <typename T>
void tex1Dfetch(T* value, cudaTextureObject_t object, int index, GPUPORT_SIMT_SITE) {
  *value = tex1Dfetch<T>(object, index, site);
}
template <typename T>
void tex1D(T* value, cudaTextureObject_t object, float x, GPUPORT_SIMT_SITE) {
  *value = tex1D<T>(object, x, site);
}
template <typename T>
void tex2D(T* value, cudaTextureObject_t object, float x, float y, GPUPORT_SIMT_SITE) {
  *value = tex2D<T>(object, x, y, site);
}
template <typename T>
void tex3D(T* value, cudaTextureObject_t object, float x, float y, float z, GPUPORT_SIMT_SITE) {
  *value = tex3D<T>(object, x, y, z, site);
}

// x counts bytes.
#define GPUPORT_SIMT_SURFACE(name, places, ...)                                              \
  template <typename T>                                                                      \
  T name##read(cudaSurfaceObject_t object, GPUPORT_SIMT_UNWRAP places,                       \
               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, GPUPORT_SIMT_SITE) {     \
    return gpuport::simt::read_surface<T>(object, __VA_ARGS__, mode, site);                  \
  }                                                                                          \
  template <typename T>                                                                      \
  void name##read(T* value, cudaSurfaceObject_t object, GPUPORT_SIMT_UNWRAP places,          \
                  cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, GPUPORT_SIMT_SITE) {  \
    *value = gpuport::simt::read_surface<T>(object, __VA_ARGS__, mode, site);                \
  }                                                                                          \
  template <typename T>                                                                      \
  void name##write(T value, cudaSurfaceObject_t object, GPUPORT_SIMT_UNWRAP places,          \
                   cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, GPUPORT_SIMT_SITE) { \
    gpuport::simt::write_surface<T>(value, object, __VA_ARGS__, mode, site);                 \
  }
GPUPORT_SIMT_SURFACE(surf1D, (int x), x, 0, 0)
GPUPORT_SIMT_SURFACE(surf2D, (int x, int y), x, y, 0)
GPUPORT_SIMT_SURFACE(surf3D, (int x, int y, int z), x, y, z)
#undef GPUPORT_SIMT_SURFACE
