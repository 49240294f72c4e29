// What the CUDA runtime functions remember: the current device and error of a thread, limits of functions.
#pragma once

#include <cstddef>
#include <string>

namespace gpuport::simt {

int set_error(int code, std::string detail = "");  // the thread's last error; gives `code` back
void clear_detail();

unsigned current_device_width();
std::size_t shared_limit_of(const void* function);
std::size_t stack_limit();

}  // namespace gpuport::simt
