// Walking strided arrays on the device: shapes with the fewest dimensions, and element offsets.
#pragma once

#include <gpuport/gpuport.cuh>

#include <limits>

#include "util.hpp"

namespace gp::util {

// A shape with up to kArrays stride lists, as a kernel argument.
template <int kArrays>
struct Walk {
  int dims = 0;
  index_t count = 1;
  index_t sizes[kMaxDims] = {};
  index_t strides[kArrays][kMaxDims] = {};

  // The offset of C-order element `index` in each array.
  GP_DEVICE void offsets(index_t index, index_t (&result)[kArrays]) const {
    for (int a = 0; a < kArrays; ++a) result[a] = 0;
    for (int d = dims - 1; d >= 0; --d) {
      const index_t quotient = index / sizes[d];
      const index_t position = index - quotient * sizes[d];
      index = quotient;
      for (int a = 0; a < kArrays; ++a) result[a] += position * strides[a][d];
    }
  }
};

// Drops dimensions of one element and joins neighbours that are one dimension in every array: fewer divisions per
// element.
template <int kArrays>
Walk<kArrays> walk_of(const Shape& shape, const Strided* const (&arrays)[kArrays]) {
  if (shape.dims < 0 || shape.dims > kMaxDims) fail(ErrorKind::kValue, "more than 32 dimensions");
  Walk<kArrays> walk;
  for (int d = 0; d < shape.dims; ++d) {
    if (shape.sizes[d] < 0) fail(ErrorKind::kValue, "a negative dimension");
    walk.count *= shape.sizes[d];
    if (shape.sizes[d] == 1) continue;
    bool joins = walk.dims > 0;
    for (int a = 0; a < kArrays; ++a) {
      joins = joins && walk.strides[a][walk.dims - 1] == shape.sizes[d] * arrays[a]->strides[d];
    }
    const int slot = joins ? walk.dims - 1 : walk.dims++;
    walk.sizes[slot] = joins ? walk.sizes[slot] * shape.sizes[d] : shape.sizes[d];
    for (int a = 0; a < kArrays; ++a) walk.strides[a][slot] = arrays[a]->strides[d];
  }
  return walk;
}

inline Call utility_call(const char* name, int device, cudaStream_t stream) {
  Call call;
  call.name = name;
  call.device = device;
  call.stream = stream;
  call.warp_size = device_attribute(cudaDevAttrWarpSize, device);
  return call;
}

inline constexpr int kElementThreads = 256;
inline constexpr index_t kMostElementBlocks =
    65536;  // then threads stride: a grid per 2^24 elements is enough in flight

inline Grid elementwise_grid(index_t count) {
  Grid grid = groups_for(count, 1, kElementThreads);
  if (grid.blocks > kMostElementBlocks) grid.blocks = kMostElementBlocks;
  return grid;
}

}  // namespace gp::util
