// assert() in device code ends the launch, not the process. <cassert> may be included again after cuda_runtime.h, so it
// is the function behind the macro that is replaced, for this binary only.
#include <cstdio>
#include <cstdlib>

#include "gpuport_simt/errors.h"
#include "machine.h"

namespace gpuport::simt {

extern "C" [[noreturn]] __attribute__((visibility("hidden"))) void __assert_fail(const char* condition,
                                                                                 const char* file, unsigned line,
                                                                                 const char* function) noexcept {
  if (current_warp != nullptr)
    stop(cudaErrorAssert, "assertion `" + std::string(condition) + "' failed at " + site_text({file, line}) + "; " +
                              where(*current_warp, current_lane));
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
  std::abort();
}

// Pulls this object out of the archive: without it the reference would go to the C library.
void link_device_assert() {}

}  // namespace gpuport::simt
