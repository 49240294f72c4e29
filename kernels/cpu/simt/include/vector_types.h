// int2, float4 and their kin.
#pragma once

#include "cuda_runtime.h"
