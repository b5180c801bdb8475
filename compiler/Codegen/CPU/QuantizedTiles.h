//===- QuantizedTiles.h - Rows times panels of integers, in tiles *- C++
//-*-===//
//
// The matmul of int8 and int4 weights for more than a few rows, on targets with
// tile registers (AMX). Dot products of integers are exact, so rows have the
// bits that QuantizedMatmul gives them, and few rows are left to it.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_QUANTIZEDTILES_H
#define COMPILER_CODEGEN_CPU_QUANTIZEDTILES_H

#include "compiler/Codegen/CPU/PanelMatmul.h"
#include "compiler/Codegen/CPU/TileMatmul.h"

namespace mtp::codegen {

/// Scratch for rows of which each takes `rowBytes`.
int64_t quantizedTilesScratchBytes(int64_t rowBytes,
                                   const WeightFormat &format);
/// Emits the loop over the caller's tasks; usesTiles() is true for the spec.
void emitQuantizedTiles(CpuBuilder &kb, const PanelMatmulSpec &spec);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_QUANTIZEDTILES_H
