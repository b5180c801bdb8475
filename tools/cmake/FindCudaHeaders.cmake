# MTP_CUDA_INCLUDE: the folder of the toolkit's cuda.h, or false where there is
# none of CUDA 13 or later. With MTP_REQUIRE_CUDA in the environment (.ci/run) its
# absence is an error.
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
if(problem)
  if(NOT "$ENV{MTP_REQUIRE_CUDA}" STREQUAL "")
    message(FATAL_ERROR "expected cuda.h of CUDA 13 or later under CUDA_HOME, ${problem}")
  endif()
  message(STATUS "expected cuda.h of CUDA 13 or later under CUDA_HOME, ${problem}")
endif()
