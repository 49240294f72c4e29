# Writes one hash of many files, for the receipts of benchmarks: cmake "-DFILES=a;b" -DOUTPUT=hash -P this
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" hash)
  string(APPEND all "${hash}\n")
endforeach()
string(SHA256 all "${all}")
file(WRITE "${OUTPUT}" "${all}\n")
