//===- Lt.cpp - cuBLASLt, found at run time -------------------------------===//

#include "Lt.h"
#include "Gpu.h"

#include <cstdio>
#include <dlfcn.h>

using namespace mtp::gpu_check;

#define LT_CALLS(X)                                                            \
  X(cublasLtCreate)                                                            \
  X(cublasLtMatmulDescCreate)                                                  \
  X(cublasLtMatmulDescSetAttribute)                                            \
  X(cublasLtMatrixLayoutCreate)                                                \
  X(cublasLtMatmulPreferenceCreate)                                            \
  X(cublasLtMatmulPreferenceSetAttribute)                                      \
  X(cublasLtMatmulAlgoGetHeuristic)                                            \
  X(cublasLtMatmul)

static struct {
#define X(name) decltype(&::name) name;
  LT_CALLS(X)
#undef X
} lt;

static cublasLtHandle_t handle;

bool mtp::gpu_check::loadLt() {
  if (machine.cublasLt.empty())
    return false;
  double start = now();
  void *library = dlopen(machine.cublasLt.c_str(), RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "error: %s\n", dlerror());
    return false;
  }
#define X(name)                                                                \
  lt.name = reinterpret_cast<decltype(lt.name)>(dlsym(library, #name));        \
  if (!lt.name)                                                                \
    return false;
  LT_CALLS(X)
#undef X
  bool good = lt.cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS;
  report("cublasLt: ms to load and create", (now() - start) * 1e3);
  return good;
}

LtProduct::LtProduct(int rows, int inputs, int count) {
  lt.cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasOperation_t transposed = CUBLAS_OP_T;
  lt.cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                    &transposed, sizeof(transposed));
  lt.cublasLtMatrixLayoutCreate(&weights, CUDA_R_16BF, inputs, rows, inputs);
  lt.cublasLtMatrixLayoutCreate(&tokens, CUDA_R_16BF, inputs, count, inputs);
  lt.cublasLtMatrixLayoutCreate(&output, CUDA_R_16BF, rows, count, rows);
}

std::vector<cublasLtMatmulHeuristicResult_t> LtProduct::algorithms(int atMost) {
  cublasLtMatmulPreference_t preference = nullptr;
  lt.cublasLtMatmulPreferenceCreate(&preference);
  size_t workspace = kWorkspace;
  lt.cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
      sizeof(workspace));
  std::vector<cublasLtMatmulHeuristicResult_t> results(atMost);
  int count = 0;
  lt.cublasLtMatmulAlgoGetHeuristic(handle, operation, weights, tokens, output,
                                    output, preference, atMost, results.data(),
                                    &count);
  results.resize(count);
  return results;
}

bool LtProduct::run(const cublasLtMatmulHeuristicResult_t &algorithm,
                    CUdeviceptr w, CUdeviceptr x, CUdeviceptr y,
                    CUdeviceptr workspace) {
  float one = 1, zero = 0;
  auto pointer = [](CUdeviceptr p) { return reinterpret_cast<void *>(p); };
  return lt.cublasLtMatmul(handle, operation, &one, pointer(w), weights,
                           pointer(x), tokens, &zero, pointer(y), output,
                           pointer(y), output, &algorithm.algo,
                           pointer(workspace), kWorkspace,
                           reinterpret_cast<cudaStream_t>(machine.stream)) ==
         CUBLAS_STATUS_SUCCESS;
}
