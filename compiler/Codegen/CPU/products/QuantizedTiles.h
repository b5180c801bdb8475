//===- QuantizedTiles.h - Rows times integer panels in tiles ----*- C++ -*-===//
//
// The matmul of int8 and int4 weights for more than a few rows, on targets with
// tile registers (AMX). Dot products of integers are exact, so rows have the
// bits of QuantizedMatmul, which multiplies few rows.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_PRODUCTS_QUANTIZEDTILES_H
#define MTP_COMPILER_CODEGEN_CPU_PRODUCTS_QUANTIZEDTILES_H

#include "compiler/Codegen/CPU/products/PanelSpec.h"

namespace mtp::codegen {

/// Returns the scratch bytes for rows of `rowBytes` bytes each.
int64_t quantizedTilesScratchBytes(int64_t rowBytes,
                                   const WeightFormat &format);
/// Emits the loop over the caller's tasks. Precondition: usesTiles() is true
/// for the spec.
void emitQuantizedTiles(CpuBuilder &kb, const PanelMatmulSpec &spec);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_PRODUCTS_QUANTIZEDTILES_H
