// What is known of a few objects, found by their address.
#pragma once

#include <Python.h>

#include <utility>
#include <vector>

namespace gpuport::launcher {

// Never more than some twenty entries: a search from the front is shorter than a hash. It keeps its keys alive.
template <typename T>
class IdentityMap {
 public:
  void add(PyObject* key, T value) {
    Py_INCREF(key);
    entries_.emplace_back(key, std::move(value));
  }
  const T* find(const void* key) const {
    for (const auto& [known, value] : entries_)
      if (known == key) return &value;
    return nullptr;
  }

 private:
  std::vector<std::pair<PyObject*, T>> entries_;
};

}  // namespace gpuport::launcher
