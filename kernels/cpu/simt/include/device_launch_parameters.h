// threadIdx and its kin, which editors want declared.
#pragma once

#include "cuda_runtime.h"
