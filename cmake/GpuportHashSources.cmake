# Writes one hash of many files, for the receipts of benchmarks: cmake -DFILES=a;b -DOUTPUT=x.hpp -P this
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" hash)
  string(APPEND all "${hash}\n")
endforeach()
string(SHA256 all "${all}")
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#pragma once
namespace gp::build {
inline constexpr const char* kSources = \"${all}\";
}
" @ONLY)
