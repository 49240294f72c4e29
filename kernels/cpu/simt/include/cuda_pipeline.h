// Asynchronous copies of one thread.
#pragma once

#include "cuda_pipeline_primitives.h"
