// What tells one call from another: words that are compared bit by bit.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace gpuport::launcher {

namespace nb = nanobind;

// A key that outlives its call.
struct StoredKey {
  std::vector<std::uint64_t> words;
  std::vector<nb::object> kept;
};

// Types whose objects never change, such as those of dtypes. Told by the package; a subtype is one too.
void add_constant_type(nb::type_object type);
bool is_constant_type(PyTypeObject* type);

class Key {
 public:
  Key() = default;
  ~Key() {
    for (PyObject* const object : kept()) Py_DECREF(object);
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  void add(std::uint64_t word) {
    if (count_ < words_.size())
      words_[count_++] = word;
    else
      is_whole_ = false;
  }

  // By its identity: the key keeps the object, so that no other takes its address.
  void add_identity(PyObject* object) {
    add(reinterpret_cast<std::uintptr_t>(object));
    if (kept_count_ == kept_.size()) return void(is_whole_ = false);
    Py_INCREF(object);
    kept_[kept_count_++] = object;
  }

  // By its value, which the key holds: None, a bool, an int of 64 bits, a str, tuples of those; a type by identity.
  // False for anything else: a key keeps no array alive, and what can change does not tell calls apart. 1 is not True.
  bool add_value(PyObject* value) {
    if (value == Py_None) return add(kNone), true;
    if (value == Py_True || value == Py_False) return add(value == Py_True ? kTrue : kFalse), true;
    if (PyLong_CheckExact(value)) {
      int overflow = 0;
      const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
      add(kInt);
      add(std::uint64_t(number));
      return overflow == 0;
    }
    if (PyUnicode_CheckExact(value)) return add_text(value);
    if (PyTuple_CheckExact(value)) {
      const Py_ssize_t size = PyTuple_Size(value);
      add(kTuple);
      add(std::uint64_t(size));
      for (Py_ssize_t i = 0; i < size && is_whole_; ++i)
        if (!add_value(PyTuple_GetItem(value, i))) return false;
      return true;
    }
    if (Py_TYPE(value) == &PyType_Type || is_constant_type(Py_TYPE(value))) {
      add(kObject);
      add_identity(value);
      return true;
    }
    return false;
  }

  // Whether everything had room.
  bool is_whole() const { return is_whole_; }
  std::span<const std::uint64_t> words() const { return {words_.data(), count_}; }
  StoredKey stored() const {
    StoredKey key{{words().begin(), words().end()}, {}};
    for (PyObject* const object : kept()) key.kept.push_back(nb::borrow(object));
    return key;
  }

 private:
  enum Tag : std::uint64_t { kNone, kFalse, kTrue, kInt, kText, kTuple, kObject };

  std::span<PyObject* const> kept() const { return {kept_.data(), kept_count_}; }

  bool add_text(PyObject* value) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) return false;
    add(kText);
    add(std::uint64_t(size));
    for (; size > 0 && is_whole_; text += 8, size -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text, std::size_t(size < 8 ? size : 8));
      add(word);
    }
    return true;
  }

  std::array<std::uint64_t, 96> words_;
  std::array<PyObject*, 8> kept_;
  std::size_t count_ = 0, kept_count_ = 0;
  bool is_whole_ = true;
};

}  // namespace gpuport::launcher
