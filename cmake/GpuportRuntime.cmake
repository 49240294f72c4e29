# What a backend compiles with and links against.

set(GPUPORT_CPU_LANGUAGE CXX)
set(GPUPORT_CUDA_LANGUAGE CUDA)
set(GPUPORT_HIP_LANGUAGE HIP)
set(GPUPORT_CPU_PRELUDE -D__CUDACC__=1 "SHELL:-include cuda_runtime.h")
set(GPUPORT_CUDA_PRELUDE "")
set(GPUPORT_HIP_PRELUDE "SHELL:-include hip/hip_runtime.h" "SHELL:-include gpuport_hip.h")

# The architectures of one file side by side: the longest file would otherwise run alone at the end.
set(GPUPORT_CUDA_OPTIONS -lineinfo --expt-relaxed-constexpr --threads=2)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # Line tables of several architectures are large and much alike: a fifth of the size. --compress-mode=size packs a
  # quarter smaller still, and takes 11 s for the longest file in place of a tenth of one. Every driver that runs
  # CUDA 13 unpacks either; one of CUDA 12 might not.
  list(APPEND GPUPORT_CUDA_OPTIONS -Xfatbin=-compress-all)
endif()

# The interface target gpuport_backend_<backend>: what everything compiled for that backend needs.
function(gpuport_backend_library backend)
  if(TARGET gpuport_backend_${backend})
    return()
  endif()
  find_package(Threads REQUIRED)
  add_library(gpuport_backend_${backend} INTERFACE)
  if(backend STREQUAL "cpu")
    gpuport_simt_library()
    target_link_libraries(gpuport_backend_cpu INTERFACE gpuport_simt)
  elseif(backend STREQUAL "cuda")
    target_compile_definitions(gpuport_backend_cuda INTERFACE GP_TARGET_CUDA=1)
    target_compile_options(gpuport_backend_cuda INTERFACE
      "$<$<COMPILE_LANGUAGE:CUDA>:${GPUPORT_CUDA_OPTIONS}>")
    # Static, so that the module imports where there is no CUDA at all.
    target_link_libraries(gpuport_backend_cuda INTERFACE CUDA::cudart_static Threads::Threads)
  elseif(backend STREQUAL "hip")
    target_compile_definitions(gpuport_backend_hip INTERFACE GP_TARGET_AMD=1 __HIP_PLATFORM_AMD__=1)
    target_include_directories(gpuport_backend_hip SYSTEM INTERFACE "${GPUPORT_HIP_INCLUDE}")
    if(GPUPORT_PACKAGE_DIR)  # for the sources of others, as the prelude; our own do without
      target_include_directories(gpuport_backend_hip SYSTEM INTERFACE "${GPUPORT_PACKAGE_DIR}/include/hip")
    endif()
    target_link_libraries(gpuport_backend_hip INTERFACE "${GPUPORT_HIP_LIBRARY}" Threads::Threads)
  endif()
endfunction()

# The SIMT machine, a library, and one for all: our module, other packages' and what gpuport.load compiles share its
# devices, threads and errors. The installed package has it; our own build makes it.
function(gpuport_simt_library)
  if(TARGET gpuport_simt)
    return()
  endif()
  if(GPUPORT_PACKAGE_DIR)
    add_library(gpuport_simt SHARED IMPORTED)
    set_target_properties(gpuport_simt PROPERTIES
      IMPORTED_LOCATION "${GPUPORT_PACKAGE_DIR}/libgpuport_simt.so" IMPORTED_SONAME libgpuport_simt.so)
    target_include_directories(gpuport_simt SYSTEM INTERFACE "${GPUPORT_PACKAGE_DIR}/include/simt")
    target_compile_definitions(gpuport_simt INTERFACE GP_TARGET_CPU=1 GPUPORT_SIMT_LIBRARY=1)
    target_compile_options(gpuport_simt INTERFACE -fno-plt)
    target_link_libraries(gpuport_simt INTERFACE Threads::Threads)
    return()
  endif()
  set(simt "${GPUPORT_CMAKE_DIR}/../kernels/cpu/simt")
  file(GLOB sources CONFIGURE_DEPENDS "${simt}/*.cpp")
  add_library(gpuport_simt SHARED ${sources})
  target_include_directories(gpuport_simt PUBLIC "${simt}/include")
  target_compile_definitions(gpuport_simt PUBLIC GP_TARGET_CPU=1 GPUPORT_SIMT_LIBRARY=1)
  # Calls into it skip the table of jumps, calls inside it are direct.
  target_compile_options(gpuport_simt PUBLIC -fno-plt PRIVATE -fno-semantic-interposition)
  target_precompile_headers(gpuport_simt PRIVATE <atomic> <map> <mutex> <string> <thread> <vector>)
  target_link_options(gpuport_simt PRIVATE -Wl,-Bsymbolic)
  target_link_libraries(gpuport_simt PUBLIC Threads::Threads)
  set_target_properties(gpuport_simt PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
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
