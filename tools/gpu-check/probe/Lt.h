//===- Lt.h - cuBLASLt, found at run time -----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_GPU_CHECK_PROBE_LT_H
#define MTP_TOOLS_GPU_CHECK_PROBE_LT_H

#include "Driver.h"

#include <cublasLt.h>
#include <vector>

namespace mtp::gpu_check {

/// y = W x in bf16 with f32 sums: W [rows][inputs], x [tokens][inputs], y
/// [tokens][rows].
class LtProduct {
public:
  LtProduct(int rows, int inputs, int tokens);
  /// Returns the algorithms that the heuristic offers, in the order of its own
  /// estimate.
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms(int atMost);
  /// Runs a product in the machine's stream. Returns false if it is refused.
  bool run(const cublasLtMatmulHeuristicResult_t &algorithm, CUdeviceptr w,
           CUdeviceptr x, CUdeviceptr y, CUdeviceptr workspace);

  static constexpr size_t kWorkspace = size_t(32) << 20;

private:
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t weights = nullptr, tokens = nullptr, output = nullptr;
};

/// Returns true if the library was named and loads.
bool loadLt();

} // namespace mtp::gpu_check

#endif // MTP_TOOLS_GPU_CHECK_PROBE_LT_H
