# MTP_CUDA_INCLUDE: the folder of the toolkit's cuda.h, or false without CUDA 13
# or later. MTP_HAS_CUBLASLT: whether cublasLt.h is there, too. With
# MTP_REQUIRE_CUDA in the environment (.ci/run) the absence of either is an
# error.
find_path(MTP_CUDA_INCLUDE cuda.h
  HINTS "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
set(problem "")
if(NOT MTP_CUDA_INCLUDE)
  set(problem "found none")
else()
  file(STRINGS ${MTP_CUDA_INCLUDE}/cuda.h line REGEX "^#define CUDA_VERSION ")
  string(REGEX REPLACE "[^0-9]" "" version "${line}")
  if(version LESS 13000)
    set(problem "found version ${version} in ${MTP_CUDA_INCLUDE}")
    set(MTP_CUDA_INCLUDE "")
  endif()
endif()
set(MTP_HAS_CUBLASLT FALSE)
if(MTP_CUDA_INCLUDE AND EXISTS ${MTP_CUDA_INCLUDE}/cublasLt.h)
  set(MTP_HAS_CUBLASLT TRUE)
elseif(NOT problem)
  set(problem "found no cublasLt.h in ${MTP_CUDA_INCLUDE}")
endif()
if(problem)
  set(problem
    "expected cuda.h and cublasLt.h of CUDA 13 or later under CUDA_HOME, ${problem}")
  if(NOT "$ENV{MTP_REQUIRE_CUDA}" STREQUAL "")
    message(FATAL_ERROR "${problem}")
  endif()
  message(STATUS "${problem}")
endif()
