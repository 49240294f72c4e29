// The mathematical functions.
#pragma once

#include "cuda_runtime.h"
