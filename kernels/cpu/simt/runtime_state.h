// What the CUDA runtime functions remember: the current device and error of a thread, limits of functions.
#pragma once

#include <cstddef>
#include <string>

namespace gpuport::simt {

int set_error(int code, std::string detail = "");  // the thread's last error; gives `code` back
// The error of a kernel that failed when it ran. Until it has been read, every call that waits for kernels gives it,
// and no other error takes its place.
int set_failure(int code, std::string detail);
int unread_failure();
void forget_failure();
void clear_detail();  // unless it is about an unread failure

unsigned current_device_width();
std::size_t shared_limit_of(const void* function);
std::size_t stack_limit();

}  // namespace gpuport::simt
