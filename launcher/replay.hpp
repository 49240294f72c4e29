// Calls that repeat: one that came to a single launch goes straight to it the next time.
//
// A call is known again by its function, its keywords and the layout of its arrays. What it came to is recorded on its
// first run, below every check (python/gpuport/_replay.py); later runs fill in the addresses and the stream. Whatever
// is unusual takes the whole way each time: other kinds of arrays, an explicit stream, a conversion, a copy, temporary
// memory, a wait.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "facts.hpp"
#include "key.hpp"
#include "plans.hpp"

namespace gpuport::launcher {

constexpr std::size_t kMostParameters = 16;

// A function of x and out=, as its Python text declares it.
struct Function {
  std::uint64_t number;  // in keys; no two functions of a process have the same
  std::vector<nb::object> parameters;
  std::size_t positional, out, stream;  // out and stream: which parameters these are
  nb::object whole;                     // the function itself
  nb::object record;                    // the function and what it came to: see Attempt::request
  nb::object meet;                      // told of a type that no reader is known for
  nb::object owner;
  Plans* plans;
};

struct Arguments {
  PyObject* const* values;
  std::size_t flagged_count;
  PyObject* names;  // of those behind the positional ones, or null
  Py_ssize_t positional() const { return PyVectorcall_NARGS(flagged_count); }
  Py_ssize_t named() const { return names == nullptr ? 0 : PyTuple_Size(names); }
};

// One call of a function, in steps. Python code runs between them, from the frame in replayed_type.cpp: before 3.14 an
// interpreter that ends takes a thread down in the middle of Python code by unwinding its stack, and C++ ends the
// process where the unwinding meets noexcept. That frame has none, and nothing to free for which the lock would be
// needed.
class Attempt {
 public:
  enum class Next {
    kDone,    // result() is the call's
    kWhole,   // the function itself is to be called, whether or not an error is set
    kMeet,    // the type of x is to be met, and the attempt started again
    kRecord,  // record is to be called with request()
    kMake,    // a result is to be made, for launch_into()
  };

  Attempt(const Function& function, const Arguments& arguments) : function_(function), arguments_(arguments) {}
  Next start();
  Next launch_into(PyObject* made);  // the reference is taken; null with an error set

  PyObject* x() const { return x_; }
  PyObject* maker() const { return plan_->make.ptr(); }
  // (function, args, kwargs, address of x, of out or None, key), a new reference.
  PyObject* request() const;
  // A new reference, or null with an error set.
  PyObject* result() const { return result_; }

 private:
  Next find_plan();
  bool bind();
  bool recognize();
  bool enqueue() const;

  const Function& function_;
  const Arguments arguments_;
  // By parameter, null where not given; the last stands for parameters that the function does not have.
  std::array<PyObject*, kMostParameters + 1> values_;
  PyObject *x_ = nullptr, *out_ = nullptr, *result_ = nullptr;  // out is null where there is none
  const ArrayReader* reader_ = nullptr;
  Facts x_facts_, out_facts_;
  Key key_;
  Plans::Entry plan_;  // held: what runs in between may forget plans
  void* stream_ = nullptr;
};

// Adds to the module what Python makes such functions with.
void bind_replay(nb::module_& m);

}  // namespace gpuport::launcher
