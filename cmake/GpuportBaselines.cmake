# What users would run instead: the vendor's own primitives, compiled for `gpuport bench --against`.
#
# A module of its own, off by default: no user of the package needs it, and CUB costs half a minute of compile time
# for each architecture.

option(GPUPORT_BASELINES "Build the vendor's primitives that benchmarks compare with" OFF)

function(gpuport_add_baseline target backend source)
  string(TOUPPER ${backend} NAME)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/kernels/baselines")
  set_source_files_properties("${folder}/${source}" PROPERTIES LANGUAGE ${GPUPORT_${NAME}_LANGUAGE})
  add_library(${target}_library OBJECT "${folder}/${source}")
  set_target_properties(${target}_library PROPERTIES POSITION_INDEPENDENT_CODE ON)
  nanobind_add_module(${target} STABLE_ABI NB_STATIC NOMINSIZE "${folder}/module.cpp")
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX INSTALL_RPATH_USE_LINK_PATH ON)
  target_compile_definitions(${target} PRIVATE GPUPORT_MODULE_NAME=${target})
  target_link_libraries(${target}_library PRIVATE gpuport_backend_${backend})
  target_link_libraries(${target} PRIVATE ${target}_library gpuport_backend_${backend})
  install(TARGETS ${target} LIBRARY DESTINATION gpuport)
  message(STATUS "gpuport: baseline ${target} beside ${backend}")
endfunction()

if(GPUPORT_BASELINES)
  if("cuda" IN_LIST GPUPORT_BACKENDS)
    gpuport_add_baseline(_cub cuda cub.cu)
  endif()
  if("hip" IN_LIST GPUPORT_BACKENDS)
    find_path(GPUPORT_ROCPRIM_INCLUDE rocprim/rocprim.hpp HINTS "${GPUPORT_HIP_INCLUDE}" NO_CACHE)
    if(NOT GPUPORT_ROCPRIM_INCLUDE)
      message(FATAL_ERROR "GPUPORT_BASELINES=ON needs rocprim/rocprim.hpp for the hip backend; it was not found")
    endif()
    gpuport_add_baseline(_rocprim hip rocprim.hip)
    target_include_directories(_rocprim_library SYSTEM PRIVATE "${GPUPORT_ROCPRIM_INCLUDE}")
  endif()
  if(NOT "cuda" IN_LIST GPUPORT_BACKENDS AND NOT "hip" IN_LIST GPUPORT_BACKENDS)
    message(FATAL_ERROR "GPUPORT_BASELINES=ON needs the cuda or the hip backend")
  endif()
endif()
