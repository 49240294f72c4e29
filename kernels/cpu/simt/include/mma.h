// Matrix fragments are not here.
#pragma once

#include "gpuport_simt/missing_wmma.h"
