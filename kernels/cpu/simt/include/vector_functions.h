// make_int2, make_float4 and their kin.
#pragma once

#include "cuda_runtime.h"
