#include <nanobind/nanobind.h>

#include "demo/demo.hpp"
#include "gpuport_build.hpp"

NB_MODULE(GPUPORT_MODULE_NAME, m) {
  m.def("fill", &gp::demo::fill);
  m.def("twice", &gp::demo::twice);
  m.attr("backend") = gp::build::kBackend;
  m.attr("architectures") = gp::build::kArchitectures;
  m.attr("compiler") = gp::build::kCompiler;
  m.attr("flags") = gp::build::kFlags;
}
