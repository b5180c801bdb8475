//===- Gemm.h - A product of the simulated library --------------*- C++ -*-===//

#ifndef TEST_GPUSIM_GEMM_H
#define TEST_GPUSIM_GEMM_H

#include "Touched.h"
#include <cuda.h>

namespace mtp::gpusim {

/// y[row][output] = sum over inputs of x[row][input] * w[output][input]: x and
/// w bf16, y f32, rows `xStride`, `wStride` and `yStride` elements apart.
///
/// In what order the products are added up depends on the number of rows, on
/// the algorithm and on a row's place, as a library is free to choose, and
/// shows in more bits than it would there.
struct Gemm {
  size_t rows = 0, outputs = 0, inputs = 0;
  size_t xStride = 0, wStride = 0, yStride = 0;
  uintptr_t x = 0, w = 0, y = 0, workspace = 0;
  /// Of the workspace: what it has, all of which counts as written.
  size_t workspaceBytes = 0;
  /// Chains of sums of an output, which are added up at the end.
  size_t chains = 1;

  /// Computes; notes what it touches where `touched` is not null.
  CUresult run(Touched *touched) const;
};

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_GEMM_H
