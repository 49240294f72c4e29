// Thrust is not here.
#pragma once

#include "../../gpuport_simt/missing_thrust.h"
