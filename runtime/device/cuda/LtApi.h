//===- LtApi.h - Used functions of cuBLASLt ---------------------*- C++ -*-===//
//
// Functions that cublasLt.h declares. The library is found at run time, so each
// function is a pointer. Including this file requires the header (CUDA 13).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_LTAPI_H
#define MTP_RUNTIME_DEVICE_CUDA_LTAPI_H

#include <cublasLt.h>
#include <dlfcn.h>

namespace mtp {

#define MTP_LT_FUNCTIONS(X)                                                    \
  X(cublasLtGetVersion)                                                        \
  X(cublasLtCreate)                                                            \
  X(cublasLtDestroy)                                                           \
  X(cublasLtMatmulDescCreate)                                                  \
  X(cublasLtMatmulDescDestroy)                                                 \
  X(cublasLtMatmulDescSetAttribute)                                            \
  X(cublasLtMatrixLayoutCreate)                                                \
  X(cublasLtMatrixLayoutDestroy)                                               \
  X(cublasLtMatmulPreferenceCreate)                                            \
  X(cublasLtMatmulPreferenceDestroy)                                           \
  X(cublasLtMatmulPreferenceSetAttribute)                                      \
  X(cublasLtMatmulAlgoGetHeuristic)                                            \
  X(cublasLtMatmulAlgoCheck)                                                   \
  X(cublasLtMatmul)

/// Pointers to functions. Null until find() is called.
struct LtApi {
#define MTP_LT_MEMBER(name) decltype(&::name) name = nullptr;
  MTP_LT_FUNCTIONS(MTP_LT_MEMBER)
#undef MTP_LT_MEMBER

  /// Looks up all functions in the library that dlopen() returned. Returns the
  /// name of the first missing function, or null.
  const char *find(void *library) {
#define MTP_LT_FIND(name)                                                      \
  this->name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));     \
  if (!this->name)                                                             \
    return #name;
    MTP_LT_FUNCTIONS(MTP_LT_FIND)
#undef MTP_LT_FIND
    return nullptr;
  }
};

#undef MTP_LT_FUNCTIONS

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_LTAPI_H
