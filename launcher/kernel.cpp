#include "kernel.hpp"

#include <cstring>

#include "arguments.hpp"
#include "lock_release.hpp"

namespace gpuport::launcher {

namespace {

// On the stack for the kernels that people write, on the heap for a long parameter list.
template <typename T, std::size_t kUsual>
class Scratch {
 public:
  explicit Scratch(std::size_t count) {
    if (count > kUsual) many_ = std::make_unique<T[]>(count);
  }
  T* get() { return many_ ? many_.get() : usual_; }

 private:
  alignas(16) T usual_[kUsual];
  std::unique_ptr<T[]> many_;
};

constexpr std::size_t kUsual = 16, kUsualBytes = 512;

nb::object tuple_of(PyObject* arguments, const std::string& kernel) {
  if (arguments == nullptr) return nb::steal(PyTuple_New(0));
  if (PyTuple_Check(arguments)) return nb::borrow(arguments);
  if (!PyList_Check(arguments)) throw nb::type_error((kernel + ": args must be a tuple or a list").c_str());
  return nb::steal(PySequence_Tuple(arguments));
}

using Extent = std::array<unsigned, 3>;

unsigned extent_of(PyObject* value, const char* what, const std::string& kernel,
                   const char* wanted = "an int or a tuple of up to three") {
  nb::object number;
  if (!PyLong_CheckExact(value)) {
    number = nb::steal(PyNumber_Index(value));
    if (!number.is_valid()) {
      PyErr_Clear();
      throw nb::type_error((kernel + ": " + what + " must be " + wanted).c_str());
    }
    value = number.ptr();
  }
  int overflow = 0;
  const long long extent = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || extent < 0 || extent > 0xffffffffll)
    throw nb::value_error((kernel + ": " + what + " has an extent that is no 32-bit number").c_str());
  return unsigned(extent);
}

Extent extents_of(PyObject* value, const char* what, const std::string& kernel) {
  Extent extents{1, 1, 1};
  if (!PyTuple_Check(value) && !PyList_Check(value)) {
    extents[0] = extent_of(value, what, kernel);
    return extents;
  }
  const nb::object list = tuple_of(value, kernel);
  const Py_ssize_t count = PyTuple_Size(list.ptr());
  if (count < 1 || count > 3) throw nb::value_error((kernel + ": " + what + " must have one to three extents").c_str());
  for (Py_ssize_t d = 0; d < count; ++d)
    extents[std::size_t(d)] = extent_of(PyTuple_GetItem(list.ptr(), d), what, kernel);
  return extents;
}

// Makes the device current and puts back what was.
class CurrentScope {
 public:
  explicit CurrentScope(const Current& current) : current_(current) {
    if (current.get == 0) return;
    code_ = get(before_);
    if (code_ == 0 && before_ != current.value) {
      code_ = set(current.value);
      changed_ = code_ == 0;
    }
  }
  ~CurrentScope() {
    if (changed_) set(before_);
  }
  CurrentScope(const CurrentScope&) = delete;
  CurrentScope& operator=(const CurrentScope&) = delete;
  int code() const { return code_; }

 private:
  int get(std::uintptr_t& value) const {
    if (current_.is_context) return reinterpret_cast<int (*)(std::uintptr_t*)>(current_.get)(&value);
    int number = 0;
    const int code = reinterpret_cast<int (*)(int*)>(current_.get)(&number);
    value = std::uintptr_t(number);
    return code;
  }
  int set(std::uintptr_t value) const {
    if (current_.is_context) return reinterpret_cast<int (*)(std::uintptr_t)>(current_.set)(value);
    return reinterpret_cast<int (*)(int)>(current_.set)(int(value));
  }

  const Current& current_;
  std::uintptr_t before_ = 0;
  int code_ = 0;
  bool changed_ = false;
};

}  // namespace

Kernel::Kernel(std::string name, std::uintptr_t function, const std::vector<Record>& parameters,
               std::shared_ptr<Target> target)
    : name_(std::move(name)), function_(function), target_(std::move(target)) {
  for (const auto& [parameter, type, kind, size, alignment, element, element_size, readonly] : parameters) {
    const std::uint32_t align = alignment > 16 ? alignment : 16;
    bytes_ = (bytes_ + align - 1) / align * align;
    const std::string number = std::to_string(parameters_.size() + 1);
    std::string where = name_ + ": parameter " + number;
    if (!parameter.empty()) where += ", " + parameter;
    if (!type.empty()) where += " (" + type + ")";
    parameters_.push_back(
        {parameter, type, {Kind(kind), size}, {Kind(element), element_size}, readonly, std::uint32_t(bytes_), where});
    bytes_ += size;
  }
}

Origin Kernel::store(PyObject* arguments, unsigned char* storage, void** addresses, Holds& holds) const {
  Origin origin;
  const auto given = PyTuple_Size(arguments);
  if (std::size_t(given) != parameters_.size()) {
    std::string names;
    for (const Parameter& parameter : parameters_) names += (names.empty() ? "" : ", ") + parameter.name;
    std::string text = name_ + " takes " + std::to_string(parameters_.size()) + " arguments (" + names + "), " +
                       std::to_string(given) + " given";
    if (std::size_t(given) < parameters_.size() && !parameters_[std::size_t(given)].name.empty())
      text += "; " + parameters_[std::size_t(given)].name + " is missing";
    throw nb::type_error(text.c_str());
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    PyObject* const value = PyTuple_GetItem(arguments, Py_ssize_t(i));
    unsigned char* const to = storage + parameter.offset;
    addresses[i] = to;
    if (parameter.value.kind == Kind::kPointer)
      store_pointer(parameter, value, target_->place, holds, to, origin);
    else
      store_value(parameter, value, to);
  }
  return origin;
}

void* Kernel::stream_of(PyObject* stream, PyObject* arguments, const Origin& origin) const {
  const Place& place = target_->place;
  std::uintptr_t handle = 0;
  if (stream == nullptr || stream == Py_None) {
    if (place.is_host()) return nullptr;
    if (origin.library != nullptr)
      handle = origin.library->current_stream(place);
    else if (!origin.is_known)
      handle = nb::cast<std::uintptr_t>(target_->stream(nb::none(), nb::handle(arguments)));
    return reinterpret_cast<void*>(handle);
  }
  // 0 and 1 are two names of the default stream. What else an int may be, the package says.
  int overflow = 0;
  const long long number = PyLong_CheckExact(stream) ? PyLong_AsLongLongAndOverflow(stream, &overflow) : -1;
  if (overflow == 0 && (number == 0 || number == 1)) return nullptr;
  if (overflow == 0 && number > 1 && !place.is_host()) return reinterpret_cast<void*>(number);
  handle = nb::cast<std::uintptr_t>(target_->stream(nb::handle(stream), nb::handle(arguments)));
  return reinterpret_cast<void*>(handle);
}

void Kernel::check(nb::handle arguments) const {
  Scratch<unsigned char, kUsualBytes> storage(bytes_);
  Scratch<void*, kUsual> addresses(parameters_.size());
  Holds holds;
  store(tuple_of(arguments.ptr(), name_).ptr(), storage.get(), addresses.get(), holds);
}

void Kernel::launch(PyObject* grid, PyObject* block, const CallOptions& options) const {
  const Extent blocks = extents_of(grid, "grid", name_), threads = extents_of(block, "block", name_);
  const unsigned shared =
      options.shared_mem == nullptr ? 0 : extent_of(options.shared_mem, "shared_mem", name_, "an int");
  const nb::object arguments = tuple_of(options.arguments, name_);
  Scratch<unsigned char, kUsualBytes> storage(bytes_);
  Scratch<void*, kUsual> addresses(parameters_.size());
  Holds holds;
  const Origin origin = store(arguments.ptr(), storage.get(), addresses.get(), holds);
  void* const queue = stream_of(options.stream, arguments.ptr(), origin);

  const auto enqueue = [&] {
    const CurrentScope scope(target_->current);
    if (scope.code() != 0) return scope.code();
    void* const function = reinterpret_cast<void*>(function_);
    const auto& [gx, gy, gz] = blocks;
    const auto& [bx, by, bz] = threads;
    if (options.cooperative)
      return target_->launch_cooperative(function, gx, gy, gz, bx, by, bz, shared, queue, addresses.get());
    return target_->launch(function, gx, gy, gz, bx, by, bz, shared, queue, addresses.get(), nullptr);
  };
  int code = 0;
  if (target_->place.is_host()) {  // a launch is over when it returns, and may take long
    const gp::LockRelease release;
    code = enqueue();
  } else {
    code = enqueue();  // takes less than giving up the lock would
  }
  if (code != 0)
    target_->on_error(name_, code, nb::make_tuple(blocks[0], blocks[1], blocks[2]),
                      nb::make_tuple(threads[0], threads[1], threads[2]));
}

}  // namespace gpuport::launcher
