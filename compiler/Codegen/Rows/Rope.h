//===- Rope.h - Rotation of heads -------------------------------*- C++ -*-===//
//
// Kernels differ in the destination of rotated columns. All use this code for
// the rotation, so that all have equal bits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_ROPE_H
#define MTP_COMPILER_CODEGEN_ROWS_ROPE_H

#include "compiler/Codegen/KernelBuilder.h"
#include "dialects/Exec/IR/ExecAttrs.h"

namespace mtp::codegen {

/// Columns of a head that are rotated, and the way they form pairs.
struct RopeSpec {
  int64_t dim;
  /// Offset of the first rotated column in the head.
  int64_t offset;
  /// Number of columns of the head. Columns that are not rotated are copied.
  int64_t width;
  bool interleaved;
  /// Rows of the table of angles; 0 if the kernel does not state them.
  int64_t positions = 0;
};

/// Returns the angles of `row`, from a table with a row of `dim` angles per
/// position. A padding row gets the angles of position 0. A position past the
/// table gets the last angles of the table.
Value emitAngles(KernelBuilder &kb, const RopeSpec &spec, Value table,
                 Value positions, Value row);

/// Rotates the head at `from` (f32) into elements of `dtype` at `to`.
void emitRotatedHead(KernelBuilder &kb, const RopeSpec &spec, Value from,
                     Value to, Value angles, DType dtype = DType::F32);

/// Rotates `heads` heads. They are `stride` elements apart at `from` and
/// `toStride` elements apart at `to`.
void emitRotatedHeads(KernelBuilder &kb, const RopeSpec &spec, int64_t heads,
                      int64_t stride, Value from, int64_t toStride, Value to,
                      Value angles, DType dtype = DType::F32);

/// Returns the rotation of heads of `width` columns, with a table of
/// `positions` rows.
RopeSpec ropeSpec(mlir::exec::RotationAttr rotation, int64_t positions,
                  int64_t width);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_ROPE_H
