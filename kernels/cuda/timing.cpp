#include "timing.hpp"

#include <gpuport/error.hpp>

#include "registry.hpp"
#include "util/util.hpp"

namespace gp {

PreparedCopy::PreparedCopy(void* dst, const void* src, std::size_t bytes, bool by_kernel, int device,
                           cudaStream_t stream)
    : dst_(dst), src_(src), bytes_(bytes), by_kernel_(by_kernel), device_(device), stream_(stream) {}

void PreparedCopy::enqueue() {
  if (by_kernel_) return util::copy_bytes(dst_, src_, bytes_, device_, stream_);
  check(cudaMemcpyAsync(dst_, src_, bytes_, cudaMemcpyDeviceToDevice, stream_), "copying device memory");
}

Stream::Stream(int device) : device_(device) {
  const DeviceScope scope(device);
  check(cudaStreamCreate(&handle_), "creating a stream");
}

Stream::~Stream() {
  try {
    const DeviceScope scope(device_);
    (void)cudaStreamDestroy(handle_);
  } catch (const Error&) {
    // The driver is shutting down, and the stream with it.
  }
}

namespace {

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording an event"); }
  void wait() { check(cudaEventSynchronize(event_), "waiting for an event"); }
  double microseconds_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading the time between two events");
    return double(milliseconds) * 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Some calls as a graph. Relaxed: what allocates inside a call is the library's own affair.
class Graph {
 public:
  Graph(const std::vector<std::function<void()>>& calls, int repeats, cudaStream_t stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "beginning the capture of a graph");
    try {
      for (int r = 0; r < repeats; ++r) {
        for (const auto& call : calls) call();
      }
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &graph_);
      destroy();
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph_), "ending the capture of a graph");
    const cudaError_t status = cudaGraphInstantiateWithFlags(&executable_, graph_, 0);
    if (status != cudaSuccess) destroy();
    check(status, "instantiating a graph");
  }
  ~Graph() { destroy(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) { check(cudaGraphLaunch(executable_, stream), "launching a graph"); }

 private:
  void destroy() {
    if (executable_ != nullptr) (void)cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
  }
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

constexpr int kLeastInGraph = 16;  // calls: what a launch of the graph costs is spread over them

template <typename Enqueue>
double time_once(Enqueue&& enqueue, Event& start, Event& stop, cudaStream_t stream) {
  start.record(stream);
  enqueue();
  stop.record(stream);
  stop.wait();
  return stop.microseconds_since(start);
}

}  // namespace

std::vector<double> time_calls(const std::vector<std::function<void()>>& calls, const Plan& plan) {
  if (calls.empty() || plan.samples < 1 || plan.warmups < 0) {
    throw Error(ErrorKind::kValue, "no call or no sample to time");
  }
  const DeviceScope scope(plan.device);
  Event start, stop;
  std::vector<double> times;
  const int count = int(calls.size());
  for (int i = 0; i < plan.warmups; ++i) calls[std::size_t(i % count)]();
  check(cudaStreamSynchronize(plan.stream), "warming up");
  if (plan.graph) {
    const int repeats = (kLeastInGraph + count - 1) / count;
    Graph graph(calls, repeats, plan.stream);
    const auto replay = [&] { graph.launch(plan.stream); };
    (void)time_once(replay, start, stop, plan.stream);  // the first launch uploads the graph
    for (int s = 0; s < plan.samples; ++s) {
      times.push_back(time_once(replay, start, stop, plan.stream) / (repeats * count));
    }
  } else {
    // On from the buffers of the last warm-up: those are the ones that a cache may still hold.
    for (int s = 0; s < plan.samples; ++s) {
      const auto& call = calls[std::size_t((plan.warmups + s) % count)];
      times.push_back(time_once(call, start, stop, plan.stream));
    }
  }
  return times;
}

DeviceFacts device_facts(int device) {
  DeviceFacts facts{};
  const DeviceScope scope(device);
  std::size_t total = 0;
  facts.l2_bytes = std::size_t(device_attribute(cudaDevAttrL2CacheSize, device));
  facts.clock_khz = device_attribute(cudaDevAttrClockRate, device);
  facts.memory_clock_khz = device_attribute(cudaDevAttrMemoryClockRate, device);
  check(cudaMemGetInfo(&facts.free_bytes, &total), "reading the free memory");
  check(cudaDriverGetVersion(&facts.driver_version), "reading the driver's version");
  check(cudaRuntimeGetVersion(&facts.runtime_version), "reading the runtime's version");
  return facts;
}

}  // namespace gp
