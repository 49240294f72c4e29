#include "replay.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace gpuport::launcher {

namespace {

std::size_t parameter_named(const Function& function, PyObject* name) {
  const auto& parameters = function.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].ptr() == name) return i;  // both are interned, as a rule
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (PyUnicode_Compare(parameters[i].ptr(), name) == 0) return i;
  return parameters.size();
}

}  // namespace

// False for a call that does not fit the function, which will say so.
bool Attempt::bind() {
  const auto count = std::size_t(arguments_.positional());
  if (count > function_.positional) return false;
  values_.fill(nullptr);
  std::copy(arguments_.values, arguments_.values + count, values_.begin());
  for (Py_ssize_t i = 0; i < arguments_.named(); ++i) {
    const std::size_t at = parameter_named(function_, PyTuple_GetItem(arguments_.names, i));
    if (at == function_.parameters.size() || values_[at] != nullptr) return false;
    values_[at] = arguments_.values[count + std::size_t(i)];
  }
  x_ = values_[0];
  return x_ != nullptr;
}

// Completes the key. False for a call that no plan can take.
bool Attempt::recognize() {
  const auto given = [&](std::size_t at) { return values_[at] == Py_None ? nullptr : values_[at]; };
  out_ = given(function_.out);
  if (given(function_.stream) != nullptr || (out_ != nullptr && Py_TYPE(out_) != Py_TYPE(x_))) return false;
  key_.add(function_.number);
  if (!reader_->read(x_, x_facts_, key_)) return false;
  if (out_ != nullptr) {
    if (!reader_->read(out_, out_facts_, key_)) return false;
    key_.add(out_facts_.address == x_facts_.address);
  }
  for (std::size_t i = 1; i < function_.parameters.size(); ++i) {
    if (values_[i] == nullptr || i == function_.out || i == function_.stream) continue;
    key_.add(i);
    if (!key_.add_value(values_[i])) return false;
  }
  return key_.is_whole();
}

Attempt::Next Attempt::start() {
  try {
    return find_plan();
  } catch (nb::python_error& error) {  // of looking at an array
    error.restore();
    return Next::kWhole;
  }
}

Attempt::Next Attempt::find_plan() {
  const bool is_met = x_ != nullptr;
  if (!bind()) return Next::kWhole;
  reader_ = reader_of(Py_TYPE(x_));
  if (reader_ == nullptr) return is_met ? Next::kWhole : Next::kMeet;
  if (!recognize()) return Next::kWhole;
  const Plans::Entry* const found = function_.plans->find(key_);
  if (found == nullptr) return Next::kRecord;
  plan_ = *found;
  if (plan_ == nullptr || !plan_->reads(x_facts_)) return Next::kWhole;
  if (out_ != nullptr && !plan_->writes(x_facts_, out_facts_)) return Next::kWhole;
  if (!reader_->current_stream(x_facts_, stream_)) return Next::kWhole;
  if (out_ == nullptr) return Next::kMake;
  if (enqueue() && reader_->written(out_)) result_ = nb::borrow(out_).release().ptr();
  return Next::kDone;
}

Attempt::Next Attempt::launch_into(PyObject* made) {
  nb::object owned = nb::steal(made);
  if (made == nullptr) return Next::kDone;
  Key layout;
  if (Py_TYPE(made) != Py_TYPE(x_) || !reader_->read(made, out_facts_, layout)) return Next::kWhole;
  if (enqueue()) result_ = owned.release().ptr();
  return Next::kDone;
}

bool Attempt::enqueue() const {
  return plan_->enqueue(plan_->call, reinterpret_cast<void*>(x_facts_.address),
                        reinterpret_cast<void*>(out_facts_.address), stream_) == 0;
}

PyObject* Attempt::request() const {
  try {
    nb::list args;
    nb::dict kwargs;
    for (Py_ssize_t i = 0; i < arguments_.positional(); ++i) args.append(nb::handle(arguments_.values[i]));
    for (Py_ssize_t i = 0; i < arguments_.named(); ++i)
      kwargs[nb::handle(PyTuple_GetItem(arguments_.names, i))] =
          nb::handle(arguments_.values[arguments_.positional() + i]);
    const nb::object out = out_ == nullptr ? nb::none() : nb::object(nb::int_(out_facts_.address));
    return nb::make_tuple(function_.whole, nb::tuple(args), kwargs, x_facts_.address, out, key_.stored())
        .release()
        .ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace gpuport::launcher
