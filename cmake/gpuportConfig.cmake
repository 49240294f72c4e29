# find_package(gpuport CONFIG): gpuport_add_module for other projects, from the installed package.
#
# With scikit-build-core and gpuport among build-system.requires it is found by itself; elsewhere with
# -Dgpuport_ROOT="$(python -m gpuport --cmake-dir)". The options GPUPORT_CPU, GPUPORT_CUDA and GPUPORT_HIP are AUTO, ON
# or OFF, and the search for compilers and architectures is that of our own build.

include_guard(DIRECTORY)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH GPUPORT_PACKAGE_DIR)
set(GPUPORT_VERSION "${gpuport_VERSION}")
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
include(GpuportPython)
include(GpuportBackends)
include(GpuportAddModule)
