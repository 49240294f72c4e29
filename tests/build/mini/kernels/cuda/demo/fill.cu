#include "demo.hpp"
#include "value.cuh"
#if (defined(GP_TARGET_CUDA) + defined(GP_TARGET_AMD) + defined(GP_TARGET_CPU)) != 1
#error the build defines exactly one target
#endif
namespace gp::demo {
float fill() { return kValue; }
}  // namespace gp::demo
