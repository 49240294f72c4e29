// The device functions.
#pragma once

#include "cuda_runtime.h"
