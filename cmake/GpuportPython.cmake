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

# Where this is: in the source tree, or, as gpuportConfig.cmake says, in the installed package.
set(GPUPORT_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")
if(GPUPORT_PACKAGE_DIR)
  set(GPUPORT_LAYER "${GPUPORT_PACKAGE_DIR}/include/cuda")
  set(GPUPORT_PYTHON_TOOLS "${GPUPORT_PACKAGE_DIR}")
  if(NOT EXISTS "${GPUPORT_PYTHON_TOOLS}/translate/__init__.py")  # an editable install: the source tree has them
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -I -c "import gpuport, os; print(os.path.dirname(gpuport.__file__))"
      OUTPUT_VARIABLE GPUPORT_PYTHON_TOOLS OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  endif()
else()
  set(GPUPORT_LAYER "${GPUPORT_CMAKE_DIR}/../kernels/cuda")
  set(GPUPORT_PYTHON_TOOLS "${GPUPORT_CMAKE_DIR}/../python/gpuport")
endif()
cmake_path(NORMAL_PATH GPUPORT_LAYER)
cmake_path(NORMAL_PATH GPUPORT_PYTHON_TOOLS)

# The translator, the lint, the search for toolchains and the look into binaries need the standard library only.
# -B: a read-only or version-controlled tree gets no bytecode.
set(GPUPORT_PYTHON "${CMAKE_COMMAND}" -E env "PYTHONPATH=${GPUPORT_PYTHON_TOOLS}" "${Python_EXECUTABLE}" -B -m)
