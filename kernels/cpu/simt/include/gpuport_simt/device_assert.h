// assert() in device code ends the launch, not the process. <cassert> may be included again after this, so it is the
// function behind the macro that is replaced, in every binary that has device code and for that binary only.
#pragma once

#include <assert.h>

#include "machine.h"

extern "C" __attribute__((weak, visibility("hidden"))) void __assert_fail(const char* condition, const char* file,
                                                                          unsigned line,
                                                                          const char* function) noexcept {
  gpuport::simt::fail_assertion(condition, {file, line}, function);
}
