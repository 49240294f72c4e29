# gpuport_add_backend_module: one nanobind extension for one backend; gpuport_add_module makes one for each.
#
#   gpuport_add_backend_module(<target> [LAYER]
#     BACKEND cpu|cuda|hip  OUTPUT_NAME <module>  TREE <folder for translated sources>
#     SOURCE_DIR <folder of the CUDA sources>
#     MODULE <plain C++ sources>  KERNELS <.cu sources>  HEADERS <what they include>
#     ARCHS <architectures of any backend; those of this one count>)

include(GpuportRuntime)
include(GpuportTranslate)

function(gpuport_add_backend_module target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "LAYER" "BACKEND;OUTPUT_NAME;TREE;SOURCE_DIR" "MODULE;KERNELS;HEADERS;ARCHS")
  set(backend ${ARG_BACKEND})
  string(TOUPPER ${backend} NAME)
  set(language ${GPUPORT_${NAME}_LANGUAGE})
  set(ARG_SOURCES ${ARG_MODULE} ${ARG_KERNELS} ${ARG_HEADERS})
  list(SORT ARG_SOURCES)
  list(TRANSFORM ARG_SOURCES PREPEND "${ARG_SOURCE_DIR}/")

  if(backend STREQUAL "cuda")
    set(tree "${ARG_SOURCE_DIR}")
  else()
    set(tree "${ARG_TREE}")
    gpuport_translate(${target}_translated TARGET ${backend} FROM "${ARG_SOURCE_DIR}" TO "${tree}"
      FILES ${ARG_MODULE} ${ARG_KERNELS} ${ARG_HEADERS})
  endif()
  list(TRANSFORM ARG_MODULE PREPEND "${tree}/")
  list(TRANSFORM ARG_KERNELS PREPEND "${tree}/")
  set(trees "${tree}")
  if(ARG_LAYER)
    _gpuport_layer(${target} ${backend} "${ARG_TREE}-layer" layer layer_sources)
    list(APPEND trees "${layer}")
    list(APPEND ARG_MODULE ${layer_sources})
  endif()

  gpuport_backend_library(${backend})
  add_library(${target}_kernels OBJECT ${ARG_KERNELS})
  set_source_files_properties(${ARG_KERNELS} PROPERTIES LANGUAGE ${language})
  set_target_properties(${target}_kernels PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden HIP_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  if(GPUPORT_PACKAGE_DIR)  # a CUDA source need not include the runtime, nvcc does it; our own do
    target_compile_options(${target}_kernels PRIVATE ${GPUPORT_${NAME}_PRELUDE})
  elseif(NOT backend STREQUAL "cpu")
    # The include guards of libstdc++'s <complex>, <thread> and special functions, which HIP's runtime header and
    # <cmath> include and none of our own kernels uses. A file is parsed for every architecture and for the host, and
    # they take a quarter of a second each time. Machine code stays the same. Another standard library has other
    # guards, and parses it all.
    target_compile_definitions(${target}_kernels PRIVATE
      _GLIBCXX_COMPLEX=1 _GLIBCXX_THREAD=1 _GLIBCXX_BITS_SPECFUN_H=1)
  else()
    # The emulator spends its time between the threads and not in them: two thirds of the time to compile.
    target_compile_options(${target}_kernels PRIVATE -O1)
    target_precompile_headers(${target}_kernels PRIVATE <gpuport/gpuport.cuh>)  # two fifths of a second a file
  endif()
  _gpuport_architectures(${target}_kernels ${backend} "${ARG_ARCHS}" architectures)

  # A domain of its own: the modules of the backends bind classes of the same names.
  nanobind_add_module(${target} STABLE_ABI NB_STATIC NOMINSIZE NB_DOMAIN ${target} ${ARG_MODULE})
  target_link_libraries(${target} PRIVATE ${target}_kernels)
  # The kernel objects carry their device code; the host linker is all that is needed.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${ARG_OUTPUT_NAME} LINKER_LANGUAGE CXX)
  if(NOT backend STREQUAL "cpu")  # the SIMT machine's folder is our package's, which the install path names
    set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()

  foreach(part IN ITEMS ${target} ${target}_kernels)
    target_link_libraries(${part} PRIVATE gpuport_backend_${backend})
    target_include_directories(${part} PRIVATE ${trees})
    if(NOT backend STREQUAL "cuda")
      # Order only: which object depends on which header is the compiler's to say.
      add_dependencies(${part} ${target}_translated)
      if(ARG_LAYER)
        add_dependencies(${part} ${target}_layer)
      endif()
    endif()
  endforeach()
  if(NOT backend STREQUAL "cpu")
    list(JOIN architectures "," required)
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND ${GPUPORT_PYTHON} inspection --require "${required}" "$<TARGET_FILE:${target}>"
      VERBATIM)
  endif()

  # Only the module reads what was built how, so that a change of flags there compiles no kernel.
  gpuport_kernel_flags(${backend} flags)
  set(facts "${CMAKE_CURRENT_BINARY_DIR}/facts/${target}")
  list(JOIN architectures " " architectures)
  set(compiler "${GPUPORT_${NAME}_COMPILER}")
  set(runtime "${GPUPORT_${NAME}_RUNTIME}")
  configure_file("${GPUPORT_CMAKE_DIR}/gpuport_build.hpp.in" "${facts}/gpuport_build.hpp" @ONLY)
  target_include_directories(${target} PRIVATE "${facts}")
  # What it was linked from, as one hash beside it. Not compiled in: an edit of a kernel would compile the module anew.
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARG_SOURCES}" "-DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUTPUT_NAME}.sources"
      -P "${GPUPORT_CMAKE_DIR}/GpuportHashSources.cmake"
    VERBATIM)
  target_compile_definitions(${target} PRIVATE GPUPORT_MODULE_NAME=${ARG_OUTPUT_NAME})
endfunction()

# Compiles a target for those of the architectures that are the backend's, by default for those of the whole build.
function(_gpuport_architectures target backend archs out)
  string(TOUPPER ${backend} NAME)
  set(names "")
  set(values "")
  foreach(arch IN LISTS archs)
    if(arch MATCHES "^sm_([0-9]+[af]?)$")
      set(kind cuda)
      set(value "${CMAKE_MATCH_1}-real")
    elseif(arch MATCHES "^compute_([0-9]+[af]?)$")
      set(kind cuda)
      set(value "${CMAKE_MATCH_1}-virtual")
    elseif(arch MATCHES "^gfx[0-9a-f]+(:(xnack|sramecc)[+-])*$")
      set(kind hip)
      set(value "${arch}")
    else()
      message(FATAL_ERROR "gpuport_add_module: ARCHS ${arch} is no architecture such as sm_90, compute_90 or gfx90a")
    endif()
    if(kind STREQUAL backend)
      list(APPEND names ${arch})
      list(APPEND values ${value})
    endif()
  endforeach()
  if(names)
    set_target_properties(${target} PROPERTIES ${NAME}_ARCHITECTURES "${values}")
  else()
    set(names ${GPUPORT_${NAME}_ARCHITECTURES})
  endif()
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# The portable layer, as the backend has it: its include folder, and its sources.
function(_gpuport_layer target backend tree out_folder out_sources)
  file(GLOB files RELATIVE "${GPUPORT_LAYER}" CONFIGURE_DEPENDS
    "${GPUPORT_LAYER}/gpuport/*.cuh" "${GPUPORT_LAYER}/gpuport/*.hpp" "${GPUPORT_LAYER}/gpuport/*.cpp")
  if(backend STREQUAL "cuda")
    set(tree "${GPUPORT_LAYER}")
  else()
    gpuport_translate(${target}_layer TARGET ${backend} FROM "${GPUPORT_LAYER}" TO "${tree}" FILES ${files})
  endif()
  list(FILTER files INCLUDE REGEX "[.]cpp$")
  list(TRANSFORM files PREPEND "${tree}/")
  set(${out_folder} "${tree}" PARENT_SCOPE)
  set(${out_sources} "${files}" PARENT_SCOPE)
endfunction()
