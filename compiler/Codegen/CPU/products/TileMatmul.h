//===- TileMatmul.h - Rows times panels of bf16, in tiles -------*- C++ -*-===//
//
// The matmul of bf16 weights on targets with tile registers (AMX). One
// instruction multiplies 16 rows with 16 outputs over 32 inputs. Loading the
// weights from memory takes longer, so that up to 16 rows take the time of one.
//
// A sum is a chain over the tiles of k; within a tile the instruction sets the
// order. One row and many rows have equal chains, so a row's bits do not depend
// on the number of rows.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_PRODUCTS_TILEMATMUL_H
#define MTP_COMPILER_CODEGEN_CPU_PRODUCTS_TILEMATMUL_H

#include "compiler/Codegen/CPU/products/PanelSpec.h"

namespace mtp::codegen {

/// Returns whether weights of `format` and `k` inputs are multiplied in tiles.
/// The target must have tiles, and the inputs (or groups) must fill them.
bool usesTiles(int64_t k, const WeightFormat &format, const TargetDesc &target);

/// Returns the scratch bytes for rows of `k` values.
int64_t tileScratchBytes(int64_t k);
/// Emits the loop over the caller's tasks. Precondition: the spec's format is
/// bf16.
void emitTileMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_PRODUCTS_TILEMATMUL_H
