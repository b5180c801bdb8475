//===- PackedRows.cpp - Rows that were packed and unpacked ----------------===//

#include "passes/support/PackedRows.h"

using namespace mlir;
using namespace mlir::mtp;

Value UnpackedRows::placesIn(OpBuilder &builder, Location loc,
                             RankedTensorType groups) {
  auto grid = RankedTensorType::get(groups.getShape().take_front(2),
                                    builder.getI32Type(), groups.getEncoding());
  return ReshapeOp::create(builder, loc, grid, places());
}

std::optional<UnpackedRows> mlir::mtp::unpackedRows(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  auto unpack = value.getDefiningOp<UnpackOp>();
  auto pack = unpack ? unpack.getPlaces().getDefiningOp<PackOp>() : PackOp();
  if (!pack || pack.getPlaces() != unpack.getPlaces())
    return std::nullopt;
  return UnpackedRows{unpack, pack};
}

Value mlir::mtp::windowOf(Value rows) {
  if (auto pack = rows.getDefiningOp<PackOp>())
    rows = pack.getRows();
  auto runs = rows.getDefiningOp<RunRowsOp>();
  return runs ? runs.getRows() : rows;
}
