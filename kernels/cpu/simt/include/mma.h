// Matrix fragments are not here.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "gpuport_simt/missing_wmma.h"
