//===- Gemm.h - A product of the simulated library --------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_DRIVER_GEMM_H
#define MTP_TEST_GPUSIM_DRIVER_GEMM_H

#include "test/GpuSim/machine/Touched.h"
#include <cuda.h>

namespace mtp::gpusim {

/// y[row][output] = sum over inputs of x[row][input] * w[output][input]: x and
/// w bf16, y f32, rows `xStride`, `wStride` and `yStride` elements apart.
///
/// The order of the sums depends on the number of rows, on the algorithm and on
/// the place of a row, because a library may choose it. The order changes more
/// bits than it would in a library.
struct Gemm {
  size_t rows = 0, outputs = 0, inputs = 0;
  size_t xStride = 0, wStride = 0, yStride = 0;
  uintptr_t x = 0, w = 0, y = 0, workspace = 0;
  /// Size of the workspace, all of which counts as written.
  size_t workspaceBytes = 0;
  /// Number of chains of sums of an output. They are added up at the end.
  size_t chains = 1;

  /// Computes the product. Records the touched bytes unless `touched` is null.
  CUresult run(Touched *touched) const;
};

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_DRIVER_GEMM_H
