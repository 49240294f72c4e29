// The part of the Python module that benchmarks use.
#pragma once

#include <nanobind/nanobind.h>

namespace gp {
void bind_timing(nanobind::module_& m);
}
