# mtp_sharded_ops(SOURCES INC COUNT HEADER...) declares COUNT sources and sets
# SOURCES to their names. Each source compiles its part of the op definitions in
# INC, a path from the root of the build. mlir-tblgen wrote INC with
# -op-shard-count=COUNT. HEADERs declare the ops, and the functions that their
# assembly formats call.
#
# This is MLIR's add_sharded_ops without mlir-src-sharder, which packages lack.
function(mtp_sharded_ops variable inc count)
  set(includes "")
  foreach(header ${ARGN})
    string(APPEND includes "#include \"${header}\"\n")
  endforeach()
  string(REPLACE .cpp.inc "" stem ${inc})
  math(EXPR last "${count} - 1")
  set(sources "")
  foreach(shard RANGE ${last})
    set(source ${PROJECT_BINARY_DIR}/${stem}.${shard}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "${includes}
#define GET_OP_DEFS_${shard}
#include \"${inc}\"
")
    list(APPEND sources ${source})
  endforeach()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
