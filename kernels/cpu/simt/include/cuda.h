// The driver API is not here: kernels and the runtime API are what a source has on this machine.
#pragma once

#include "cuda_runtime.h"
