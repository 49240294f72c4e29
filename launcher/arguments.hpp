// One argument of a call, converted to the bytes that the kernel takes.
#pragma once

#include "parameters.hpp"

namespace gpuport::launcher {

// NumPy's scalar types by what they hold; filled once by the package, before the first launch. `sample` is a scalar of
// the type and `bytes` what it holds.
void register_scalar(nb::handle type, Kind kind, std::uint32_t size, nb::handle sample, const nb::bytes& bytes);
// False for what is no scalar of NumPy's, or none with a counterpart in C++.
bool scalar_element(PyObject* value, Element& element);

// Numbers, and structs by their bytes.
void store_value(const Parameter& parameter, PyObject* value, unsigned char* to);

}  // namespace gpuport::launcher
