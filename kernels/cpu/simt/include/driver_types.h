// The types of the runtime API.
#pragma once

#include "cuda_runtime.h"
