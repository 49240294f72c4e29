// The qualifiers.
#pragma once

#include "cuda_runtime.h"
