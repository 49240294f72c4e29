# find_package(gpuport CONFIG): gpuport_add_module for other projects, from the installed package.
#
# With scikit-build-core and gpuport among build-system.requires it is found by itself; elsewhere with
# -Dgpuport_ROOT="$(python -m gpuport --cmake-dir)". The options GPUPORT_CPU, GPUPORT_CUDA and GPUPORT_HIP are AUTO, ON
# or OFF, and the search for compilers and architectures is that of our own build.

# First of all: an older CMake would fail over a command that it does not know, and not say why.
if(CMAKE_VERSION VERSION_LESS 4.0)
  set(gpuport_FOUND FALSE)
  set(gpuport_NOT_FOUND_MESSAGE
      "gpuport needs CMake 4.0 or newer; this is CMake ${CMAKE_VERSION}, ${CMAKE_COMMAND} (pip install 'cmake>=4' has a newer one)")
  return()
endif()

include_guard(DIRECTORY)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH GPUPORT_PACKAGE_DIR)
set(GPUPORT_VERSION "${gpuport_VERSION}")
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
include(GpuportPython)
include(GpuportBackends)
include(GpuportAddModule)
