// What this has comes with the runtime.
#pragma once

#include "cuda_runtime.h"
