// As cublas_v2.h: the library is not here.
#pragma once

#include "cublas_v2.h"
