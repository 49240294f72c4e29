// Random numbers in kernels: the Philox 4x32-10 and the XORWOW generator, with cuRAND's sequences of bits. Normal
// numbers come from the host's logarithm and sine, so that their last digits may differ.
#pragma once

#include "curand.h"
#include "gpuport_simt/random_philox.h"
#include "gpuport_simt/random_xorwow.h"
#include "gpuport_simt/random_distributions.h"
