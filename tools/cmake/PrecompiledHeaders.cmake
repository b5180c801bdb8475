# Precompiled headers. MLIR's headers cost many times what our own code in a
# file costs; parsed once, they make a build of everything several times
# shorter. Sources still include all that they use: a build without
# (-DMTP_PRECOMPILE_HEADERS=OFF, and GCC's by default) must compile.
#
#   mtp_precompile(TARGET SET)  lets TARGET start from the headers of SET:
#     standard   C++ and the artifact's schema: tables readers, runtime, tools
#     testing    standard, and GoogleTest
#     mlir       standard, MLIR, LLVM and the dialects
#     mlir_testing  mlir, and GoogleTest
#
# A target of unit tests (testing, mlir_testing) is not optimised: half of the time
# that the compiler takes for such a source goes into optimisation, and the
# tests spend their time in libraries.
#
# A source that needs other flags than the rest (exceptions) opts out by
# SKIP_PRECOMPILE_HEADERS.

if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(default ON)
else()
  # GCC's take hundreds of megabytes each.
  set(default OFF)
endif()
option(MTP_PRECOMPILE_HEADERS "Parse MLIR's, GoogleTest's and the C++ library's headers once" ${default})

set(MTP_PRECOMPILED_FOLDER ${CMAKE_CURRENT_LIST_DIR}/precompiled)

# Unit tests read results in passing; one that failed ends them anyway.
function(mtp_test_options target)
  target_compile_options(${target} PRIVATE -UMTP_CHECK_RESULTS -O0)
endfunction()

# The target whose headers others reuse, made when it is first asked for.
function(mtp_precompiled_target set)
  set(target mtp_precompiled_${set})
  if(TARGET ${target})
    return()
  endif()
  add_library(${target} OBJECT ${MTP_PRECOMPILED_FOLDER}/empty.cpp)
  target_precompile_headers(${target} PRIVATE
    ${MTP_PRECOMPILED_FOLDER}/${set}.h)
  # ccache compares contents; a time in the file would make each one differ.
  # Templates that headers use are instantiated here, not in each source.
  target_compile_options(${target} PRIVATE
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>"
    $<$<CXX_COMPILER_ID:Clang>:-fpch-instantiate-templates>)
  target_link_libraries(${target} PRIVATE mtp_schema_mtp_artifact)
  if(set MATCHES "^mlir")
    add_dependencies(${target} MTPDialectIncGen mtp_exec_dialect_tablegen)
  endif()
  if(set MATCHES "testing$")
    target_link_libraries(${target} PRIVATE GTest::gtest)
    mtp_test_options(${target})
  endif()
endfunction()

function(mtp_precompile target set)
  if(set MATCHES "testing$")
    mtp_test_options(${target})
  endif()
  if(MTP_PRECOMPILE_HEADERS)
    mtp_precompiled_target(${set})
    target_precompile_headers(${target} REUSE_FROM mtp_precompiled_${set})
    # The C++ library silences warnings of its own calls by pragmas, which are
    # lost to templates of a precompiled header.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations
      "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()
