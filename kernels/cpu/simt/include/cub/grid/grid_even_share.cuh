// CUB is not here.
#pragma once

#include "../../gpuport_simt/missing_cub.h"
