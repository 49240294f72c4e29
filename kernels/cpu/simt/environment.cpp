// The environment variables. What they say is read once a process; a value that is not understood fails every launch,
// because a run under another seed than the one that was asked for looks like a run that found nothing.
#include <sched.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "machine.h"

namespace gpuport::simt {

namespace {

struct Setting {
  const char* name;
  std::uint64_t least, most;

  // Null where it is unset; empty counts as that.
  const char* text() const {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  }
  bool read(const char* text, std::uint64_t* value) const {
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, *value);  // of an unsigned type: no sign, no blanks
    return error == std::errc() && rest == end && *value >= least && *value <= most;
  }
  std::uint64_t value_or(std::uint64_t otherwise) const {
    std::uint64_t value = 0;
    return text() != nullptr && read(text(), &value) ? value : otherwise;
  }
  std::string fault() const {
    std::uint64_t value = 0;
    if (text() == nullptr || read(text(), &value)) return "";
    return std::string(name) + " is '" + text() + "', not a decimal number from " + std::to_string(least) + " to " +
           std::to_string(most);
  }
};

constexpr Setting kSeed{"GPUPORT_SIMT_SEED", 0, INT64_MAX};
constexpr Setting kThreads{"GPUPORT_SIMT_THREADS", 1, 1024};

unsigned usable_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return unsigned(CPU_COUNT(&allowed));
  const unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? cores : 1;
}

}  // namespace

const std::string& environment_fault() {
  // Never destroyed: a static destructor may launch.
  static const std::string& fault = *new std::string(kSeed.fault().empty() ? kThreads.fault() : kSeed.fault());
  return fault;
}

long long environment_seed() {
  constexpr std::uint64_t kNone = ~std::uint64_t(0);
  const std::uint64_t seed = kSeed.value_or(kNone);
  return seed == kNone ? kNoSeed : static_cast<long long>(seed);
}

unsigned worker_count() {
  static const unsigned count = unsigned(kThreads.value_or(usable_cores()));
  return count;
}

}  // namespace gpuport::simt
