// The error on its way to Python. Kernel files throw it through fail.hpp.
#pragma once

#include <stdexcept>
#include <string>

#include "fail.hpp"

namespace gp {

struct Error : std::runtime_error {
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  ErrorKind kind;
};

}  // namespace gp
