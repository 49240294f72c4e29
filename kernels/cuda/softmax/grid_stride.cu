// softmax.grid_stride: the kernel of online_shuffle on a fixed grid of four blocks a multiprocessor.
// Each block takes every so many rows and uses its shared memory again for each. Reads each row twice, writes it once.
// Launches no more blocks than run at once, whatever the number of rows.
#include "online.cuh"

namespace gp::softmax {

constexpr index_t kBlocksPerProcessor = 4;

void grid_stride(const Call& call) {
  visit_elements(call, TeachingTypes{}, [&]<int kWarp, typename T>() {
    Grid grid = blocks_for(call.rows, kOnlineThreads);
    const index_t fixed = kBlocksPerProcessor * device_attribute(cudaDevAttrMultiProcessorCount, call.device);
    if (grid.blocks > fixed) grid.blocks = fixed;
    launch(online_kernel<kWarp, T>, call, grid, rows_of<T>(call));
  });
}

}  // namespace gp::softmax
