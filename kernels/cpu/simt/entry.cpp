// Launches of kernels that a loaded module exports.
#include "gpuport_simt/entry.h"

#include "cuda_runtime_api.h"

namespace gpuport::simt {

namespace {

struct Bound {
  const Entry* entry;
  void** parameters;
};

int launch_entry(const Entry* entry, const Config& config, bool resident, void** parameters) {
  const Bound bound{entry, parameters};
  return launch({entry->name, entry->function, config, resident,
                 [](const void* context) {
                   const Bound& call = *static_cast<const Bound*>(context);
                   call.entry->call(call.parameters);
                 },
                 &bound});
}

}  // namespace

}  // namespace gpuport::simt

using namespace gpuport::simt;

extern "C" {

int gpuport_simt_launch(const Entry* entry, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream_st* stream, void** parameters,
                        void**) {
  return launch_entry(entry, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream}, false,
                      parameters);
}

int gpuport_simt_launch_cooperative(const Entry* entry, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                    CUstream_st* stream, void** parameters) {
  return launch_entry(entry, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream}, true, parameters);
}

int gpuport_simt_entry_limits(const Entry* entry, int* threads, int* shared) {
  cudaFuncAttributes attributes;
  const int code = function_attributes(&attributes, entry->function);
  *threads = attributes.maxThreadsPerBlock;
  *shared = attributes.maxDynamicSharedSizeBytes;
  return code;
}
int gpuport_simt_entry_allow_shared(const Entry* entry, int bytes) {
  return set_function_attribute(entry->function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
int gpuport_simt_entry_occupancy(const Entry* entry, int* blocks, int threads, std::size_t shared) {
  return resident_blocks(blocks, entry->function, threads, shared);
}
}
