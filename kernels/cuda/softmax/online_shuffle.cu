// softmax.online_shuffle: one block a row, running (max, sum), merged by warp shuffles.
// Reads each row twice, writes it once. Every thread holds the row's state.
#include "online.cuh"

namespace gp::softmax {

void online_shuffle(const Call& call) {
  visit_elements(call, EveryType{}, [&]<int kWarp, typename T>() {
    launch(online_kernel<kWarp, T>, call, blocks_for(call.rows, kOnlineThreads), rows_of<T>(call));
  });
}

}  // namespace gp::softmax
