// The parts of a number or of a vector of up to four.
#pragma once

#include <type_traits>

namespace gpuport::simt {

template <typename T>
struct Components {
  using Part = std::remove_cvref_t<decltype(T::x)>;
  static constexpr int kCount = int(sizeof(T) / sizeof(Part));
};
template <typename T>
  requires std::is_arithmetic_v<T>
struct Components<T> {
  using Part = T;
  static constexpr int kCount = 1;
};
// A vector of as many parts, of which the first are given.
template <typename T, typename Part>
T from_parts(const Part* parts) {
  T value;
  auto* const to = reinterpret_cast<typename Components<T>::Part*>(&value);
  for (int i = 0; i < Components<T>::kCount; ++i) to[i] = typename Components<T>::Part(parts[i]);
  return value;
}

}  // namespace gpuport::simt
