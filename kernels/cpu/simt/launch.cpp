// A launch from its request to its error: checks, order of blocks, result.
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <numeric>

#include "gpuport_simt/errors.h"
#include "machine.h"
#include "runtime_state.h"

namespace gpuport::simt {

namespace {

std::atomic<long long>& seed_setting() {
  static std::atomic<long long> seed{environment_seed()};
  return seed;
}

std::string triple(dim3 v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

// The kernel's own name where the binary tells it, else what stood in the source.
std::string kernel_name(const Request& request) {
  Dl_info info;
  if (request.function != nullptr && dladdr(request.function, &info) != 0 && info.dli_saddr == request.function) {
    int status = 0;
    char* const plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    std::string name = status == 0 ? plain : info.dli_sname;
    std::free(plain);
    return name.substr(0, name.find('('));
  }
  std::string name = request.name;
  if (name.size() > 2 && name.front() == '(' && name.back() == ')') name = name.substr(1, name.size() - 2);
  return name;
}

// Empty if the launch may go ahead.
std::string configuration_fault(const Config& config, std::size_t shared_limit) {
  if (!environment_fault().empty()) return environment_fault();
  const dim3 grid = config.grid, block = config.block;
  const auto is_empty = [](dim3 v) { return v.x == 0 || v.y == 0 || v.z == 0; };
  if (is_empty(grid)) return "the grid " + triple(grid) + " has no blocks";
  if (is_empty(block)) return "the block " + triple(block) + " has no threads";
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return "the grid " + triple(grid) + " is over the limit (2147483647,65535,65535)";
  if (block.x > 1024 || block.y > 1024 || block.z > 64)
    return "the block " + triple(block) + " is over the limit (1024,1024,64)";
  if (std::uint64_t(block.x) * block.y * block.z > kMaxThreads)
    return "the block " + triple(block) + " has " + std::to_string(std::uint64_t(block.x) * block.y * block.z) +
           " threads, the limit is " + std::to_string(kMaxThreads);
  if (config.shared > shared_limit)
    return std::to_string(config.shared) + " bytes of dynamic shared memory are over the limit of " +
           std::to_string(shared_limit) + " (cudaFuncSetAttribute raises it up to " + std::to_string(kSharedOptIn) +
           ")";
  return "";
}

// Every block once, in an order that the seed chooses: steps of a length that shares no divisor with their number.
void choose_order(Launch& launch) {
  launch.order_step = 1;
  launch.order_start = 0;
  if (!launch.seeded || launch.blocks < 2) return;
  std::uint64_t mixed = (launch.seed + 1) * 0x9e3779b97f4a7c15u;
  mixed ^= mixed >> 29;
  launch.order_start = mixed % launch.blocks;
  launch.order_step = mixed / 7 % launch.blocks | 1;
  while (std::gcd(launch.order_step, launch.blocks) != 1) launch.order_step += 1;
}

}  // namespace

void Launch::fail(int code, std::string text) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (error == 0) {
    error = code;
    detail = std::move(text);
  }
  stopped = true;
}

int launch(const Request& request) {
  clear_detail();
  const std::string prefix = "kernel ";
  if (current_warp != nullptr)
    stop(cudaErrorNotSupported, "it launches kernel " + kernel_name(request) +
                                    ", and a kernel cannot launch one here; " + where(*current_warp, current_lane));

  const Config& config = request.config;
  const std::size_t shared_limit = shared_limit_of(request.function);
  const std::string fault = configuration_fault(config, shared_limit);
  if (!fault.empty()) return set_error(cudaErrorInvalidConfiguration, prefix + kernel_name(request) + ": " + fault);

  const std::uint64_t blocks = std::uint64_t(config.grid.x) * config.grid.y * config.grid.z;
  const unsigned threads = config.block.x * config.block.y * config.block.z;
  constexpr std::uint64_t kMostResidentThreads = std::uint64_t(1) << 18;
  if (request.resident && blocks * threads > kMostResidentThreads)
    return set_error(cudaErrorCooperativeLaunchTooLarge, prefix + kernel_name(request) + ": " + std::to_string(blocks) +
                                                             " blocks of " + std::to_string(threads) +
                                                             " threads cannot all be resident, the limit is " +
                                                             std::to_string(kMostResidentThreads) + " threads");

  Launch launch;
  launch.request = &request;
  launch.grid = config.grid;
  launch.block = config.block;
  launch.threads = threads;
  launch.warp_size = current_device_width();
  launch.dynamic_bytes = config.shared;
  launch.shared_limit = shared_limit;
  launch.stack_bytes = stack_limit();
  const long long seed = seed_setting().load();
  launch.seeded = seed >= 0;
  launch.seed = launch.seeded ? std::uint64_t(seed) : 0;
  launch.blocks = blocks;
  find_outer_shared(launch);
  choose_order(launch);
  run_on_workers(launch);
  if (launch.error == 0) return cudaSuccess;
  const std::string text = prefix + kernel_name(request) + " <<<" + triple(config.grid) + ", " + triple(config.block) +
                           ">>>, warps of " + std::to_string(launch.warp_size) + ": " + launch.detail;
  // Too much static shared memory shows only while the block runs, but is a fault of the configuration.
  return launch.error == cudaErrorInvalidConfiguration ? set_error(launch.error, text)
                                                       : set_failure(launch.error, text);
}

}  // namespace gpuport::simt

extern "C" void gpuport_simt_set_seed(long long seed) { gpuport::simt::seed_setting() = seed; }
