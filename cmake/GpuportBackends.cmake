# Decides which backends are built, and enables their languages. Sets GPUPORT_BACKENDS.
#
# The search for compilers and the architecture lists have one implementation,
# python/gpuport/toolchain; here is only what CMake itself must be told.

foreach(_name IN ITEMS CPU CUDA HIP)
  set(GPUPORT_${_name} "AUTO" CACHE STRING "Build the ${_name} backend: AUTO, ON or OFF")
  set_property(CACHE GPUPORT_${_name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT GPUPORT_${_name} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "GPUPORT_${_name}=${GPUPORT_${_name}} is none of AUTO, ON, OFF")
  endif()
endforeach()

# A misspelt option would otherwise pass quietly. GPUPORT_ROOT is find_package's, and scikit-build-core sets it.
get_cmake_property(_cache CACHE_VARIABLES)
foreach(_variable IN LISTS _cache)
  if(_variable MATCHES "^GPUPORT_" AND NOT _variable MATCHES "^GPUPORT_(CPU|CUDA|HIP|BASELINES|ROOT)$")
    message(FATAL_ERROR "${_variable} is no option; there are GPUPORT_CPU, GPUPORT_CUDA, GPUPORT_HIP, GPUPORT_BASELINES")
  endif()
endforeach()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
foreach(_language IN ITEMS CXX CUDA HIP)
  set(CMAKE_${_language}_STANDARD 20)
  set(CMAKE_${_language}_STANDARD_REQUIRED ON)
  set(CMAKE_${_language}_EXTENSIONS OFF)
endforeach()

# What the user set, here or in the environment, decides.
set(_settings "")
foreach(_variable IN ITEMS
    CMAKE_CUDA_COMPILER CMAKE_CUDA_HOST_COMPILER CMAKE_CUDA_ARCHITECTURES CMAKE_CUDA_COMPILER_LAUNCHER
    CMAKE_HIP_COMPILER CMAKE_HIP_COMPILER_ROCM_ROOT CMAKE_HIP_ARCHITECTURES CMAKE_HIP_COMPILER_LAUNCHER
    GPU_TARGETS)
  if(DEFINED ${_variable})
    string(REPLACE ";" "\\;" _value "${${_variable}}")
    list(APPEND _settings --set "${_variable}=${_value}")
  endif()
endforeach()

set(_found "${CMAKE_CURRENT_BINARY_DIR}/toolchain")
execute_process(
  COMMAND ${GPUPORT_PYTHON} toolchain find
    --backend "cuda=${GPUPORT_CUDA}" --backend "hip=${GPUPORT_HIP}"
    ${_settings} --cmake "${_found}.cmake" --json "${_found}.json"
  RESULT_VARIABLE _result ERROR_VARIABLE _error)
if(NOT _result EQUAL 0)
  message(FATAL_ERROR "gpuport: ${_error}")
endif()
include("${_found}.cmake")

set(GPUPORT_CPU_REASON "GPUPORT_CPU=OFF")
set(GPUPORT_CPU_COMPILER "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
set(GPUPORT_CPU_ARCHITECTURES "${CMAKE_SYSTEM_PROCESSOR}")
set(GPUPORT_CPU_RUNTIME "SIMT runtime ${GPUPORT_VERSION}")
if(GPUPORT_CPU STREQUAL "OFF")
  set(GPUPORT_CPU_BUILT OFF)
else()
  set(GPUPORT_CPU_BUILT ON)
endif()

set(GPUPORT_BACKENDS "")
foreach(_backend IN ITEMS cpu cuda hip)
  string(TOUPPER ${_backend} _name)
  if(GPUPORT_${_name}_BUILT)
    list(APPEND GPUPORT_BACKENDS ${_backend})
    list(JOIN GPUPORT_${_name}_ARCHITECTURES " " _architectures)
    message(STATUS "gpuport: ${_backend}: built for ${_architectures} "
      "(${GPUPORT_${_name}_COMPILER}, ${GPUPORT_${_name}_RUNTIME})")
  else()
    set(_reason "${GPUPORT_${_name}_REASON}")
    if(GPUPORT_${_name}_SEARCHED)
      list(JOIN GPUPORT_${_name}_SEARCHED "; " _searched)
      string(APPEND _reason " (looked at ${_searched})")
    endif()
    message(STATUS "gpuport: ${_backend}: not built: ${_reason}")
  endif()
endforeach()

if("cuda" IN_LIST GPUPORT_BACKENDS)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
endif()

if("hip" IN_LIST GPUPORT_BACKENDS)
  # AMD, whatever hipconfig makes of an nvcc on PATH.
  set(CMAKE_HIP_PLATFORM amd)
  # CMake's own check of the compiler needs the paths too.
  list(JOIN GPUPORT_HIP_PATH_FLAGS "\" \"" _flags)
  set(CMAKE_HIP_FLAGS "\"${_flags}\" ${CMAKE_HIP_FLAGS}")
  enable_language(HIP)
endif()
