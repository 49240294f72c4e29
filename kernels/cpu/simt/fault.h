// Signals that a kernel's thread raises become errors of its launch.
#pragma once

namespace gpuport::simt {

void prepare_for_faults();  // on this OS thread, before it runs a kernel

}  // namespace gpuport::simt
