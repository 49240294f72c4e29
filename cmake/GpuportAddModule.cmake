# gpuport_add_module: the extension modules of one Python package, one for each backend, from CUDA sources.
#
#   gpuport_add_module(<package>
#     SOURCES a.cu b.cu bindings.cpp
#     [HEADERS <more headers>] [SOURCE_DIR <folder>] [BACKENDS cpu cuda hip] [ARCHS sm_90 gfx90a ...]
#     [LINT report|error|off] [LAYER] [DESTINATION <folder>])
#
# For each backend that GpuportBackends.cmake found, and that BACKENDS names, the target <package>_<backend> is the
# nanobind extension <package>._<backend>, installed to the folder <package>; dots in a package's name are folders.
#   SOURCES     kernels (.cu) and plain C++, NB_MODULE(GPUPORT_MODULE_NAME, m) in one of them
#   HEADERS     headers that are not beside a source; those beside one are found
#   SOURCE_DIR  what the paths above are relative to, and an include folder; the current one by default
#   ARCHS       instead of the list of the whole build (CMAKE_CUDA_ARCHITECTURES, CMAKE_HIP_ARCHITECTURES)
#   LINT        what a finding of `gpuport lint` does: it is printed (the default), or fails the build
#   LAYER       <gpuport/gpuport.cuh> can be included, and is linked
#
# For cuda the sources are compiled where they are; for hip and cpu each file is translated into the build tree, and
# the translated tree takes the place of SOURCE_DIR. Kernels are an object library of their own, so that nothing of
# Python or nanobind reaches them. A module that lacks machine code for one of its architectures is a failed build.

include(GpuportBackendModule)

function(gpuport_add_module package)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "LAYER" "SOURCE_DIR;LINT;DESTINATION" "SOURCES;HEADERS;BACKENDS;ARCHS")
  _gpuport_check_arguments(${package})
  if(NOT ARG_SOURCE_DIR)
    set(ARG_SOURCE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  if(NOT ARG_DESTINATION)
    string(REPLACE "." "/" ARG_DESTINATION "${package}")
  endif()

  _gpuport_sort_sources("${ARG_SOURCE_DIR}" "${ARG_SOURCES}" module kernels headers)
  list(APPEND headers ${ARG_HEADERS})
  list(REMOVE_DUPLICATES headers)
  _gpuport_lint(${package} "${ARG_LINT}" "${ARG_SOURCE_DIR}" "${module};${kernels};${headers}")

  set(trees "${CMAKE_CURRENT_BINARY_DIR}/${package}")
  if(package STREQUAL PROJECT_NAME)  # the common case: shorter paths
    set(trees "${CMAKE_CURRENT_BINARY_DIR}")
  endif()
  set(layer "")
  if(ARG_LAYER)
    set(layer LAYER)
  endif()
  foreach(backend IN LISTS ARG_BACKENDS)
    if(NOT backend IN_LIST GPUPORT_BACKENDS)
      string(TOUPPER ${backend} NAME)
      message(STATUS "gpuport: ${package}: no module for ${backend}: ${GPUPORT_${NAME}_REASON}")
      continue()
    endif()
    set(target ${package}_${backend})
    gpuport_add_backend_module(${target} ${layer}
      BACKEND ${backend}
      OUTPUT_NAME _${backend}
      TREE "${trees}/${backend}"
      SOURCE_DIR "${ARG_SOURCE_DIR}"
      MODULE ${module}
      KERNELS ${kernels}
      HEADERS ${headers}
      ARCHS ${ARG_ARCHS})
    if(TARGET ${package}_lint)
      add_dependencies(${target}_kernels ${package}_lint)
    endif()
    # Beside our own package, wherever both are installed.
    cmake_path(RELATIVE_PATH GPUPORT_INSTALLED BASE_DIRECTORY "/${ARG_DESTINATION}" OUTPUT_VARIABLE ours)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${ours}")
    install(TARGETS ${target} LIBRARY DESTINATION "${ARG_DESTINATION}")
  endforeach()
endfunction()

set(GPUPORT_INSTALLED "/gpuport")

# In the caller's scope: what cannot be met is said with the option that it stands behind.
macro(_gpuport_check_arguments package)
  if(ARG_UNPARSED_ARGUMENTS OR ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "gpuport_add_module(${package}): cannot make sense of: "
      "${ARG_UNPARSED_ARGUMENTS} ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT "${package}" MATCHES "^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$")
    message(FATAL_ERROR "gpuport_add_module(${package}): this is no name of a Python package")
  endif()
  if(NOT ARG_BACKENDS)
    set(ARG_BACKENDS cpu cuda hip)
  endif()
  foreach(_backend IN LISTS ARG_BACKENDS)
    if(NOT _backend MATCHES "^(cpu|cuda|hip)$")
      message(FATAL_ERROR "gpuport_add_module(${package}): BACKENDS ${_backend} is none of cpu, cuda, hip")
    endif()
  endforeach()
  if(NOT ARG_LINT)
    set(ARG_LINT report)
  endif()
  if(NOT ARG_LINT MATCHES "^(error|report|off)$")
    message(FATAL_ERROR "gpuport_add_module(${package}): LINT ${ARG_LINT} is none of report, error, off")
  endif()
endmacro()

# Sources by what compiles them, with the headers that lie beside them; all relative to the folder.
function(_gpuport_sort_sources folder sources out_module out_kernels out_headers)
  set(module "")
  set(kernels "")
  set(patterns "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}" NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX folder "${path}" NORMALIZE inside)
    if(NOT inside OR NOT EXISTS "${path}")
      message(FATAL_ERROR "gpuport_add_module: SOURCES ${source}: there is no such file in ${folder}")
    endif()
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${folder}" OUTPUT_VARIABLE source)
    if(source MATCHES "[.]cu$")
      list(APPEND kernels "${source}")
    elseif(source MATCHES "[.](cpp|cc|cxx)$")
      list(APPEND module "${source}")
    else()
      message(FATAL_ERROR "gpuport_add_module: SOURCES ${source} is neither .cu nor .cpp, .cc, .cxx")
    endif()
    cmake_path(GET path PARENT_PATH home)
    list(APPEND patterns "${home}/*.cuh" "${home}/*.h" "${home}/*.hpp" "${home}/*.inl")
  endforeach()
  if(NOT kernels OR NOT module)
    message(FATAL_ERROR "gpuport_add_module: SOURCES needs a .cu, and a .cpp that holds NB_MODULE")
  endif()
  list(REMOVE_DUPLICATES patterns)
  file(GLOB headers RELATIVE "${folder}" CONFIGURE_DEPENDS ${patterns})
  set(${out_module} "${module}" PARENT_SCOPE)
  set(${out_kernels} "${kernels}" PARENT_SCOPE)
  set(${out_headers} "${headers}" PARENT_SCOPE)
endfunction()

# The target <package>_lint: the sources at once, and anew where one of them has changed.
function(_gpuport_lint package mode folder files)
  if(mode STREQUAL "off")
    return()
  endif()
  list(TRANSFORM files PREPEND "${folder}/")
  set(sources "${files}")
  list(FILTER sources INCLUDE REGEX "[.](cu|cuh|h|hpp|inl|cpp|cc|cxx)$")
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/${package}_lint.stamp")
  set(options "")
  if(mode STREQUAL "report")
    set(options --exit-zero)
  endif()
  file(GLOB tools CONFIGURE_DEPENDS "${GPUPORT_PYTHON_TOOLS}/linting/*.py")
  add_custom_command(
    OUTPUT "${stamp}"
    COMMAND ${GPUPORT_PYTHON} linting ${options} ${sources}
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS ${sources} ${tools}
    COMMENT "Linting ${package}"
    VERBATIM)
  add_custom_target(${package}_lint DEPENDS "${stamp}")
endfunction()
