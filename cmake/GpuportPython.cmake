# Python, its development files, nanobind, and the package's own Python tools.

# scikit-build-core names the stable-ABI component where it builds an abi3 wheel.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})

if(NOT nanobind_ROOT)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
endif()
find_package(nanobind CONFIG REQUIRED)

# The translator and the toolchain search run from the source tree, before anything is installed.
# -B: a read-only or version-controlled tree gets no bytecode.
set(GPUPORT_PYTHON_TOOLS "${CMAKE_CURRENT_LIST_DIR}/../python/gpuport")
cmake_path(NORMAL_PATH GPUPORT_PYTHON_TOOLS)
set(GPUPORT_PYTHON "${CMAKE_COMMAND}" -E env "PYTHONPATH=${GPUPORT_PYTHON_TOOLS}" "${Python_EXECUTABLE}" -B -m)
