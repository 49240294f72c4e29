// The thread's last error, and the words for it.
#include <cstring>

#include "cuda_runtime_api.h"
#include "gpuport_simt.h"
#include "runtime_state.h"

namespace gpuport::simt {

namespace {

struct ErrorState {
  cudaError_t last = cudaSuccess;
  cudaError_t failure = cudaSuccess;   // of a kernel that ran, until it is read; `last` is the same until then
  cudaError_t detailed = cudaSuccess;  // the error that `detail` is about
  std::string detail, text;
};
thread_local ErrorState error_state;

const char* plain_text(cudaError_t error) {
  switch (error) {
#define GPUPORT_SIMT_TEXT(name, value, text) \
  case name:                                 \
    return text;
    GPUPORT_SIMT_ERRORS(GPUPORT_SIMT_TEXT)
#undef GPUPORT_SIMT_TEXT
  }
  return "unrecognized error code";
}

}  // namespace

int set_error(int code, std::string detail) {
  if (error_state.failure != cudaSuccess) return code;
  error_state.last = cudaError_t(code);
  if (!detail.empty()) {
    error_state.detailed = cudaError_t(code);
    error_state.detail = std::move(detail);
  }
  return code;
}

int set_failure(int code, std::string detail) {
  forget_failure();
  set_error(code, std::move(detail));
  error_state.failure = cudaError_t(code);
  return code;
}
int unread_failure() { return error_state.failure; }
void forget_failure() {
  if (error_state.failure == cudaSuccess) return;
  error_state.failure = error_state.last = cudaSuccess;
}

void clear_detail() {
  if (error_state.failure != cudaSuccess) return;
  error_state.detailed = cudaSuccess;
  error_state.detail.clear();
}

cudaError_t not_supported(const char* call, const char* why) {
  return cudaError_t(set_error(cudaErrorNotSupported, std::string(call) + ": on the CPU backend " + why));
}

}  // namespace gpuport::simt

using gpuport::simt::error_state;

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = error_state.last;
  error_state.last = error_state.failure = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return error_state.last; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define GPUPORT_SIMT_NAME(name, value, text) \
  case name:                                 \
    return #name;
    GPUPORT_SIMT_ERRORS(GPUPORT_SIMT_NAME)
#undef GPUPORT_SIMT_NAME
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const char* const plain = gpuport::simt::plain_text(error);
  if (error == cudaSuccess || error != error_state.detailed || error_state.detail.empty()) return plain;
  error_state.text = std::string(plain) + ": " + error_state.detail;
  return error_state.text.c_str();
}

const char* gpuport_simt_last_error_detail() { return error_state.detail.c_str(); }
}
