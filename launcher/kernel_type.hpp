// gpuport._launcher.Kernel, Python's class of kernels.
#pragma once

#include <nanobind/nanobind.h>

namespace gpuport::launcher {

void add_kernel_type(nanobind::module_& module);

}  // namespace gpuport::launcher
