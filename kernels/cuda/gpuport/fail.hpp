// How host code refuses a call. Apart from error.hpp, which has the class that is thrown: a kernel file would spend as
// long on the standard headers of that as on its own kernels, once for each architecture.
#pragma once

#include <type_traits>

namespace gp {

enum class ErrorKind {
  kType,
  kValue,
  kMemory,
  kLaunch,
  kUnsupportedArch,
  kRuntime
};  // which class it becomes in Python

namespace detail {

struct MessagePart {
  MessagePart(const char* text) : text(text) {}
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  MessagePart(T number) : number(static_cast<long long>(number)) {}

  const char* text = nullptr;  // or else the number
  long long number = 0;
};

[[noreturn]] void fail(ErrorKind kind, const MessagePart* parts, int count);

}  // namespace detail

// Throws an Error. Its message is the parts in a row: texts and integers.
template <typename... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  const detail::MessagePart row[] = {detail::MessagePart(parts)...};
  detail::fail(kind, row, int(sizeof...(parts)));
}

}  // namespace gp
