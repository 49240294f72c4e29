# gpuport_add_module: one nanobind extension for one backend, from CUDA sources.
#
#   gpuport_add_module(<target>
#     BACKEND cpu|cuda|hip
#     SOURCE_DIR <folder of the CUDA sources; also their include folder>
#     MODULE <plain C++ sources, the one with NB_MODULE among them>
#     KERNELS <.cu sources>
#     HEADERS <what they include>)
#
# Sources are relative to SOURCE_DIR. For cuda they are compiled where they are; for hip and cpu each
# file is translated into the build tree, and the translated tree takes the place of SOURCE_DIR.
# Kernels are an object library of their own, so that nothing of Python or nanobind reaches them.

include(GpuportTranslate)

# Kernel sources from the lines GP_ENTRY(family, variant, ...) of a registry.
function(gpuport_read_registry registry out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${registry}")
  file(STRINGS "${registry}" entries REGEX "^[ \t]*GP_ENTRY\\(")
  set(sources "")
  foreach(entry IN LISTS entries)
    if(NOT entry MATCHES "^[ \t]*GP_ENTRY\\([ \t]*([a-z0-9_]+)[ \t]*,[ \t]*([a-z0-9_]+)[ \t]*,")
      message(FATAL_ERROR "${registry}: this line is no GP_ENTRY(family, variant, ...):\n  ${entry}")
    endif()
    set(source "${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.cu")
    cmake_path(GET registry PARENT_PATH folder)
    if(NOT EXISTS "${folder}/${source}")
      message(FATAL_ERROR "${registry} has an entry for ${source}, and there is no ${folder}/${source}")
    endif()
    list(APPEND sources "${source}")
  endforeach()
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()

function(gpuport_add_module target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "BACKEND;SOURCE_DIR" "MODULE;KERNELS;HEADERS")
  set(backend ${ARG_BACKEND})
  string(TOUPPER ${backend} NAME)
  set(ARG_SOURCES ${ARG_MODULE} ${ARG_KERNELS} ${ARG_HEADERS})
  list(SORT ARG_SOURCES)
  list(TRANSFORM ARG_SOURCES PREPEND "${ARG_SOURCE_DIR}/")

  if(backend STREQUAL "cuda")
    set(tree "${ARG_SOURCE_DIR}")
  else()
    set(tree "${CMAKE_CURRENT_BINARY_DIR}/${backend}")
    gpuport_translate(${target}_translated TARGET ${backend} FROM "${ARG_SOURCE_DIR}" TO "${tree}"
      FILES ${ARG_MODULE} ${ARG_KERNELS} ${ARG_HEADERS})
  endif()
  list(TRANSFORM ARG_MODULE PREPEND "${tree}/")
  list(TRANSFORM ARG_KERNELS PREPEND "${tree}/")

  gpuport_backend_library(${backend})
  add_library(${target}_kernels OBJECT ${ARG_KERNELS})
  set_source_files_properties(${ARG_KERNELS} PROPERTIES LANGUAGE ${GPUPORT_${NAME}_LANGUAGE})
  set_target_properties(${target}_kernels PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden HIP_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)

  # A domain of its own: the modules of the backends bind classes of the same names.
  nanobind_add_module(${target} STABLE_ABI NB_STATIC NOMINSIZE NB_DOMAIN ${target} ${ARG_MODULE})
  target_link_libraries(${target} PRIVATE ${target}_kernels)
  # The kernel objects carry their device code; the host linker is all that is needed.
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)

  foreach(part IN ITEMS ${target} ${target}_kernels)
    target_link_libraries(${part} PRIVATE gpuport_${backend})
    target_include_directories(${part} PRIVATE "${tree}")
    if(NOT backend STREQUAL "cuda")
      # Order only: which object depends on which header is the compiler's to say.
      add_dependencies(${part} ${target}_translated)
    endif()
  endforeach()

  # Only the module reads what was built how, so that a change of flags there compiles no kernel.
  gpuport_kernel_flags(${backend} GPUPORT_${NAME}_FLAGS)
  set(facts "${CMAKE_CURRENT_BINARY_DIR}/facts/${target}")
  list(JOIN GPUPORT_${NAME}_ARCHITECTURES " " architectures)
  set(compiler "${GPUPORT_${NAME}_COMPILER}")
  set(runtime "${GPUPORT_${NAME}_RUNTIME}")
  set(flags "${GPUPORT_${NAME}_FLAGS}")
  configure_file("${GPUPORT_CMAKE_DIR}/gpuport_build.hpp.in" "${facts}/gpuport_build.hpp" @ONLY)
  target_include_directories(${target} PRIVATE "${facts}")
  # What it was linked from, as one hash beside it. Not compiled in: an edit of a kernel would compile the module anew.
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARG_SOURCES}" "-DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${target}.sources"
      -P "${GPUPORT_CMAKE_DIR}/GpuportHashSources.cmake"
    VERBATIM)
  target_compile_definitions(${target} PRIVATE GPUPORT_MODULE_NAME=${target})
  set(GPUPORT_${NAME}_FLAGS "${GPUPORT_${NAME}_FLAGS}" PARENT_SCOPE)
endfunction()

set(GPUPORT_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")
set(GPUPORT_CPU_LANGUAGE CXX)
set(GPUPORT_CUDA_LANGUAGE CUDA)
set(GPUPORT_HIP_LANGUAGE HIP)

# The architectures of one file side by side: the longest file would otherwise run alone at the end.
set(GPUPORT_CUDA_OPTIONS -lineinfo --expt-relaxed-constexpr --threads=2)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # Line tables of several architectures are large and much alike: a seventh of the size. Every driver
  # that runs CUDA 13 unpacks it; one of CUDA 12 might not.
  list(APPEND GPUPORT_CUDA_OPTIONS --compress-mode=size)
endif()

# The interface target gpuport_<backend>: what everything compiled for that backend needs.
function(gpuport_backend_library backend)
  if(TARGET gpuport_${backend})
    return()
  endif()
  find_package(Threads REQUIRED)
  add_library(gpuport_${backend} INTERFACE)
  if(backend STREQUAL "cpu")
    set(simt "${GPUPORT_CMAKE_DIR}/../kernels/cpu/simt")
    file(GLOB sources CONFIGURE_DEPENDS "${simt}/*.cpp")
    # A library, and one for all: our module and what gpuport.load compiles share its devices, threads and errors.
    add_library(gpuport_simt SHARED ${sources})
    target_include_directories(gpuport_simt PUBLIC "${simt}/include")
    target_compile_definitions(gpuport_simt PUBLIC GP_TARGET_CPU=1 GPUPORT_SIMT_LIBRARY=1)
    # Calls into it skip the table of jumps, calls inside it are direct.
    target_compile_options(gpuport_simt PUBLIC -fno-plt PRIVATE -fno-semantic-interposition)
    target_link_options(gpuport_simt PRIVATE -Wl,-Bsymbolic)
    target_link_libraries(gpuport_simt PUBLIC Threads::Threads)
    set_target_properties(gpuport_simt PROPERTIES
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_link_libraries(gpuport_cpu INTERFACE gpuport_simt)
  elseif(backend STREQUAL "cuda")
    target_compile_definitions(gpuport_cuda INTERFACE GP_TARGET_CUDA=1)
    target_compile_options(gpuport_cuda INTERFACE
      "$<$<COMPILE_LANGUAGE:CUDA>:${GPUPORT_CUDA_OPTIONS}>")
    # Static, so that the module imports where there is no CUDA at all.
    target_link_libraries(gpuport_cuda INTERFACE CUDA::cudart_static Threads::Threads)
  elseif(backend STREQUAL "hip")
    target_compile_definitions(gpuport_hip INTERFACE GP_TARGET_AMD=1 __HIP_PLATFORM_AMD__=1)
    target_include_directories(gpuport_hip SYSTEM INTERFACE "${GPUPORT_HIP_INCLUDE}")
    target_link_libraries(gpuport_hip INTERFACE "${GPUPORT_HIP_LIBRARY}" Threads::Threads)
  endif()
endfunction()

# What the kernels of a backend are compiled with, for people to read.
function(gpuport_kernel_flags backend out)
  string(TOUPPER ${backend} NAME)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
  set(language ${GPUPORT_${NAME}_LANGUAGE})
  set(flags "-std=c++20 ${CMAKE_${language}_FLAGS} ${CMAKE_${language}_FLAGS_${configuration}}")
  if(backend STREQUAL "cuda")
    list(JOIN GPUPORT_CUDA_OPTIONS " " options)
    string(APPEND flags " ${options}")
  endif()
  string(REGEX REPLACE " +" " " flags "${flags}")
  string(STRIP "${flags}" flags)
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

# _build_info.json: its form is described in python/gpuport/toolchain/__init__.py.
function(gpuport_write_build_info path)
  file(READ "${CMAKE_CURRENT_BINARY_DIR}/toolchain.json" info)
  string(JSON info SET "${info}" version "\"${PROJECT_VERSION}\"")
  string(JSON cpu GET "${info}" backends cuda)
  string(JSON info SET "${info}" backends cpu "${cpu}")
  set(built false)
  if(GPUPORT_CPU_BUILT)
    set(built true)
    set(GPUPORT_CPU_REASON "")
  endif()
  string(JSON info SET "${info}" backends cpu built ${built})
  string(JSON info SET "${info}" backends cpu architectures "[\"${CMAKE_SYSTEM_PROCESSOR}\"]")
  string(JSON info SET "${info}" backends cpu searched "[]")
  set(GPUPORT_CPU_ARCHITECTURES_FROM default)
  set(GPUPORT_CPU_COMPILER_PATH "${CMAKE_CXX_COMPILER}")
  foreach(key IN ITEMS REASON ARCHITECTURES_FROM COMPILER COMPILER_PATH RUNTIME)
    gpuport_set_string(info cpu ${key} "${GPUPORT_CPU_${key}}")
  endforeach()
  foreach(backend IN LISTS GPUPORT_BACKENDS)
    string(TOUPPER ${backend} NAME)
    gpuport_set_string(info ${backend} FLAGS "${GPUPORT_${NAME}_FLAGS}")
  endforeach()
  file(CONFIGURE OUTPUT "${path}" CONTENT "${info}\n" @ONLY)
endfunction()

function(gpuport_set_string document backend key value)
  string(TOLOWER ${key} key)
  string(REPLACE "\\" "\\\\" value "${value}")
  string(REPLACE "\"" "\\\"" value "${value}")
  string(JSON result SET "${${document}}" backends ${backend} ${key} "\"${value}\"")
  set(${document} "${result}" PARENT_SCOPE)
endfunction()
