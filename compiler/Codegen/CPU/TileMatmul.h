//===- TileMatmul.h - Rows times panels of bf16, in tiles -------*- C++ -*-===//
//
// The matmul of bf16 weights on targets with tile registers (AMX): 16 rows meet
// 16 outputs and 32 inputs in one instruction, in the time in which memory
// delivers a fraction of such weights, so that up to 16 rows cost what one
// does.
//
// A sum is a chain over the tiles of k, and within a tile what the instruction
// does; one row takes the same chain as many, so its bits do not depend on how
// many there are.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_TILEMATMUL_H
#define COMPILER_CODEGEN_CPU_TILEMATMUL_H

#include "compiler/Codegen/CPU/PanelMatmul.h"

namespace mtp::codegen {

/// Whether weights of `format` and `k` inputs are multiplied in tiles: where
/// the target has them and inputs (or groups) fill them.
bool usesTiles(int64_t k, const WeightFormat &format, const TargetDesc &target);

/// Scratch for rows of `k` values.
int64_t tileScratchBytes(int64_t k);
/// Emits the loop over the caller's tasks; the spec's format is bf16.
void emitTileMatmul(KernelBuilder &kb, const PanelMatmulSpec &spec);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_TILEMATMUL_H
