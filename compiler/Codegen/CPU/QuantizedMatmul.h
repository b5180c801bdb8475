//===- QuantizedMatmul.h - Rows times panels of integers --------*- C++ -*-===//
//
// The matmul of weights in int8 and int4. Rows are quantised too, group by
// group of their inputs, so that a group's dot product is one of integers and
// exact; what is left for floats is one chain over the groups:
//
//   sum = fma(float(dot(group)) * rowScale(group), weightScale(group), sum)
//
// Its order depends on the width alone, so that a row has the same bits in
// every block of rows, and on every instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_QUANTIZEDMATMUL_H
#define COMPILER_CODEGEN_CPU_QUANTIZEDMATMUL_H

#include "compiler/Codegen/CPU/PanelMatmul.h"

namespace mtp::codegen {

/// Bytes in scratch of one row of `k` values.
int64_t quantizedRowBytes(int64_t k, const WeightFormat &format,
                          const TargetDesc &target);
/// Emits the loop over the caller's tasks; the spec's format is quantised.
void emitQuantizedMatmul(KernelBuilder &kb, const PanelMatmulSpec &spec);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_QUANTIZEDMATMUL_H
