#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "rowstats.h"

namespace nb = nanobind;

namespace {

template <typename T, int kDimensions>
using Array = nb::ndarray<T, nb::ndim<kDimensions>, nb::c_contig>;

void require(const char* problem) {
  if (problem != nullptr) throw std::runtime_error(problem);
}

}  // namespace

NB_MODULE(GPUPORT_MODULE_NAME, m) {
  m.def("histogram", [](Array<const unsigned char, 1> x, Array<unsigned, 1> bins, int device) {
    if (bins.shape(0) != kBins) throw std::invalid_argument("bins must have 256 elements");
    require(histogram(x.data(), (long long)x.size(), bins.data(), device));
  });
  m.def("row_sums", [](Array<const float, 2> x, Array<float, 1> sums, Array<int, 1> lanes, int device) {
    if (sums.shape(0) != x.shape(0) || lanes.shape(0) != x.shape(0)) {
      throw std::invalid_argument("sums and lanes must have an element for each row of x");
    }
    require(row_sums(x.data(), (long long)x.shape(0), (long long)x.shape(1), sums.data(), lanes.data(), device));
  });
}
