// Marks and ranges for a profiler, of which there is none here.
#pragma once

#include "../nvToolsExt.h"
