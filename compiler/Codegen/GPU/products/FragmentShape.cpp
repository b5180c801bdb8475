//===- FragmentShape.cpp - Division of tensor-core products ---------------===//

#include "compiler/Codegen/GPU/products/FragmentShape.h"

using namespace mtp::codegen;
using Order = mtp::FragmentOrder;

int64_t FragmentShape::chunkBytes() const {
  if (!isInteger())
    return Order::kBlockBytes;
  return format.panel(k).blockBytes(format.group);
}

int64_t FragmentShape::panelBytes() const {
  return productPanelBytes(k, format);
}

int64_t FragmentShape::registers() const {
  if (!isInteger())
    return Order::kTileBytes / kWarp / 4;
  // The integers and two scales.
  return units() * integers().laneBytes() / 4 + 2;
}

int64_t mtp::codegen::productThreads(const ProductParams &params) {
  if (!params.fragments)
    return kProductWarps * kWarp;
  return FragmentShape{params.format, params.k}.threads();
}

FragmentPass FragmentPass::get(const FragmentShape &shape, int64_t height,
                               int64_t rowTiles, bool gathersRows,
                               bool arePrepared) {
  // With 8 warps a thread has 128 registers, with 16 it has 64.
  bool isRoomy = shape.warps() == kProductWarps;
  // The sums of many rows leave fewer registers to weights. Widening four-bit
  // weights takes registers, and so do two tiles and gathered rows. Rows that
  // another kernel prepared take no register while they wait for their weights.
  bool isEven = shape.chunks() % shape.warps() == 0;
  bool isWidened = shape.format.bits() == 4;
  int64_t most = !isRoomy ? 24 : isWidened ? 40 : 48;
  if (isWidened && arePrepared)
    most = rowTiles > 2 ? 8 : rowTiles > 1 ? 12 : 24;
  else if (rowTiles > 2)
    most = !isRoomy                    ? arePrepared && !gathersRows ? 16 : 8
           : height > 1 || gathersRows ? 10
                                       : 20;
  else if (height > 1 && isWidened)
    most = rowTiles > 1 && gathersRows ? 20 : 24;
  else if (height > 1 && rowTiles > 1 &&
           (gathersRows || (!isRoomy && !(arePrepared && isEven))))
    most /= 2;
  FragmentPass pass{rowTiles, height, 1, 1};
  if (rowTiles > 2 || height * shape.registers() > most)
    pass.height = 1;
  while (pass.stages < 4 &&
         2 * pass.stages * pass.height * shape.registers() <= most)
    pass.stages *= 2;
  if (arePrepared)
    return pass;
  // The rows of the prepared chunks must fit into the memory of the sums.
  int64_t places = kFragmentRows / rowTiles / kRowTile * 64;
  int64_t room = isRoomy ? 2 * places : places;
  while (pass.prepared < pass.stages &&
         2 * pass.prepared * shape.rowBytes() <= room)
    pass.prepared *= 2;
  return pass;
}
