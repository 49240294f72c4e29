// cuda::std, which device code may use: on a CPU the host's library is as good.
#pragma once

#include <cstddef>

namespace cuda::std {
using namespace ::std;
}  // namespace cuda::std
