//===- PackedRows.h - What was packed, and unpacked again -------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_PACKEDROWS_H
#define MTP_PASSES_SUPPORT_PACKEDROWS_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Rows that stand where they were before they were packed.
struct UnpackedRows {
  UnpackOp unpack;
  PackOp pack;

  Value packed() { return unpack.getX(); }
  Value places() { return unpack.getPlaces(); }
  /// The places as numbers of each group, where the rows are in `groups`.
  Value placesIn(OpBuilder &builder, Location loc, RankedTensorType groups);
};

/// What was unpacked to make `value`, which may be in groups. Nothing where the
/// places are not those that a pack gave its own rows: these come first.
std::optional<UnpackedRows> unpackedRows(Value value);

/// Rows as they were before they were packed or became runs, if they were.
Value windowOf(Value rows);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_PACKEDROWS_H
