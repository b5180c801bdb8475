//===- PackedRows.h - Rows that were packed and unpacked --------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_PACKEDROWS_H
#define MTP_PASSES_SUPPORT_PACKEDROWS_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Rows that were packed and then moved back to their old places.
struct UnpackedRows {
  UnpackOp unpack;
  PackOp pack;

  Value packed() { return unpack.getX(); }
  Value places() { return unpack.getPlaces(); }
  /// Returns the places reshaped to the shape of `groups`.
  Value placesIn(OpBuilder &builder, Location loc, RankedTensorType groups);
};

/// Returns the unpacking that made `value`, which may be in groups. Returns
/// nothing unless the places are the pack's own rows, which come first.
std::optional<UnpackedRows> unpackedRows(Value value);

/// Returns the window's rows that were packed or turned into runs, or `rows`
/// itself.
Value windowOf(Value rows);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_PACKEDROWS_H
