//===- Rope.h - Rotating heads ----------------------------------*- C++ -*-===//
//
// Where rotated columns go differs from kernel to kernel; how they are rotated
// is said here alone, so that all have the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_ROWS_ROPE_H
#define COMPILER_CODEGEN_ROWS_ROPE_H

#include "compiler/Codegen/KernelBuilder.h"
#include "dialects/Exec/IR/ExecAttrs.h"

namespace mtp::codegen {

/// Which columns of a head are rotated, and in which pairs.
struct RopeSpec {
  int64_t dim;
  /// Of the first rotated column in the head.
  int64_t offset;
  /// Columns of the head in all: those beside the rotated ones are copied.
  int64_t width;
  bool interleaved;
  /// Rows of the table of angles; 0 where the kernel does not say.
  int64_t positions = 0;
};

/// The angles of `row`, from a table with a row of `dim` angles per position. A
/// dead row gets the angles of position 0, and a position behind the table the
/// angles of the table's last one.
Value emitAngles(KernelBuilder &kb, const RopeSpec &spec, Value table,
                 Value positions, Value row);

/// Rotates the head at `from`, f32, into elements of `dtype` at `to`.
void emitRotatedHead(KernelBuilder &kb, const RopeSpec &spec, Value from,
                     Value to, Value angles, DType dtype = DType::F32);

/// The same for `heads` heads, `stride` elements apart where they are read and
/// `toStride` where they go.
void emitRotatedHeads(KernelBuilder &kb, const RopeSpec &spec, int64_t heads,
                      int64_t stride, Value from, int64_t toStride, Value to,
                      Value angles, DType dtype = DType::F32);

/// Of heads of `width` columns, with a table of `positions` rows.
RopeSpec ropeSpec(mlir::exec::RotationAttr rotation, int64_t positions,
                  int64_t width);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_ROPE_H
