// Everything a kernel file needs.
#pragma once

#include "async.cuh"
#include "block.cuh"
#include "call.hpp"
#include "dispatch.hpp"
#include "fold_rows.cuh"
#include "launch.cuh"
#include "memory.cuh"
#include "ops.cuh"
#include "runtime.hpp"
#include "types.cuh"
#include "warp.cuh"
