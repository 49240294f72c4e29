# gpuport_translate: the ported copy of a source tree, file by file, in the build tree.
#
#   gpuport_translate(<target> TARGET hip|cpu FROM <folder> TO <folder> FILES <relative paths>)
#
# One command a file: an edited file is translated alone. <target> is done when every file is there;
# what compiles them depends on it, so that a parallel build never compiles before a header exists.

function(gpuport_translate target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TARGET;FROM;TO" "FILES")
  # A change of the translator or of its name table translates everything anew.
  file(GLOB_RECURSE translator CONFIGURE_DEPENDS
    "${GPUPORT_PYTHON_TOOLS}/translate/*.py" "${GPUPORT_PYTHON_TOOLS}/translate/*.toml"
    "${GPUPORT_CMAKE_DIR}/../kernels/hip/*.toml")
  set(translated "")
  foreach(file IN LISTS ARG_FILES)
    add_custom_command(
      OUTPUT "${ARG_TO}/${file}"
      COMMAND ${GPUPORT_PYTHON} translate --target ${ARG_TARGET} --line-directives "${ARG_FROM}/${file}" --output "${ARG_TO}/${file}"
      DEPENDS "${ARG_FROM}/${file}" ${translator}
      COMMENT "Translating ${file} for ${ARG_TARGET}"
      VERBATIM)
    list(APPEND translated "${ARG_TO}/${file}")
  endforeach()
  add_custom_target(${target} DEPENDS ${translated})
endfunction()
