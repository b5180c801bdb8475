# Precompiled headers. MLIR's headers cost many times the parsing time of our
# own code in a file. Parsing them once makes a full build several times
# shorter. Sources still include all headers that they use: a build without
# precompiled headers (-DMTP_PRECOMPILE_HEADERS=OFF, and GCC's by default) must
# compile.
#
#   mtp_precompile(TARGET SET)  lets TARGET start from the headers of SET:
#     standard   C++ and the artifact's schema: tables readers, runtime, tools
#     testing    standard, and GoogleTest
#     mlir       standard, MLIR, LLVM and the dialects
#     mlir_testing  mlir, and GoogleTest
#
# Targets of unit tests (testing, mlir_testing) are not optimised. Optimisation is
# half of the compile time of such a source, and the tests spend their time in
# libraries.
#
# Targets of the mlir sets (dialects, passes, compiler and their tools) have
# assertions in every build type, unless MTP_ASSERTIONS is off, as in packages.
# The runtime and generated code have none. The layout of LLVM's classes does not
# depend on NDEBUG. It depends on LLVM_ENABLE_ABI_BREAKING_CHECKS, which LLVM's
# headers set as the library was built.
#
# A source that needs different flags (exceptions) opts out with
# SKIP_PRECOMPILE_HEADERS.

if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(default ON)
else()
  # GCC's precompiled headers take hundreds of megabytes each.
  set(default OFF)
endif()
option(MTP_PRECOMPILE_HEADERS "Parse MLIR's, GoogleTest's and the C++ library's headers once" ${default})

set(MTP_PRECOMPILED_FOLDER ${CMAKE_CURRENT_LIST_DIR}/precompiled)

# Unit tests read results without checking; a failed result ends them anyway.
function(mtp_test_options target)
  target_compile_options(${target} PRIVATE -UMTP_CHECK_RESULTS -O0)
endfunction()

# mtp_optimize_tests(SOURCE...): optimises sources of unit tests that spend their
# time in loops of their own.
function(mtp_optimize_tests)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

option(MTP_ASSERTIONS "Build dialects, passes and compiler with assertions" ON)

# A precompiled header and its users must agree on NDEBUG.
function(mtp_assertions target)
  if(MTP_ASSERTIONS)
    target_compile_options(${target} PRIVATE -UNDEBUG)
  endif()
endfunction()

# The target whose headers others reuse, created on first use.
function(mtp_precompiled_target set)
  set(target mtp_precompiled_${set})
  if(TARGET ${target})
    return()
  endif()
  add_library(${target} OBJECT ${MTP_PRECOMPILED_FOLDER}/empty.cpp)
  target_precompile_headers(${target} PRIVATE
    ${MTP_PRECOMPILED_FOLDER}/${set}.h)
  # ccache compares contents; a timestamp in the file would make each one
  # differ. Templates that headers use are instantiated here, not in each
  # source.
  target_compile_options(${target} PRIVATE
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>"
    $<$<CXX_COMPILER_ID:Clang>:-fpch-instantiate-templates>)
  target_link_libraries(${target} PRIVATE mtp_schema_mtp_artifact)
  if(set MATCHES "^mlir")
    add_dependencies(${target} MTPDialectIncGen mtp_exec_dialect_tablegen)
    mtp_assertions(${target})
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
  if(set MATCHES "^mlir")
    mtp_assertions(${target})
  endif()
  if(MTP_PRECOMPILE_HEADERS)
    mtp_precompiled_target(${set})
    target_precompile_headers(${target} REUSE_FROM mtp_precompiled_${set})
    # The C++ library silences warnings of its own calls by pragmas, which do
    # not apply to templates of a precompiled header.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations
      "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()
