//===- CpuTiles.cpp - Tile registers in kernels ------------------------===//
//
// Tiles are intrinsics with register numbers. The amx dialect does not fit: its
// tiles are values made from memrefs, but kernels have pointers and use all
// eight registers in a fixed way.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/builder/CpuBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static constexpr int64_t tileCount = 8;

Value CpuBuilder::tileNumber(int64_t tile) {
  assert(target.tiles && tile < tileCount && "no such tile");
  return LLVM::ConstantOp::create(builder, loc, builder.getI8Type(),
                                  builder.getI8IntegerAttr(tile));
}

void CpuBuilder::configureTiles(Value scratch) {
  // Byte 0 is the palette, byte 16 + 2t is the bytes per row of tile t, and
  // byte 48 + t is its number of rows.
  SmallVector<int8_t> bytes(64, 0);
  bytes[0] = 1;
  for (int64_t tile = 0; tile < tileCount; ++tile) {
    bytes[16 + 2 * tile] = tileRowBytes;
    bytes[48 + tile] = tileRows;
  }
  Value content = LLVM::ConstantOp::create(
      builder, loc, vectorType(i8Type(), 64),
      DenseElementsAttr::get(vectorType(i8Type(), 64), ArrayRef(bytes)));
  store(content, scratch);
  intrinsic("llvm.x86.ldtilecfg", scratch);
}

void CpuBuilder::releaseTiles() {
  intrinsic("llvm.x86.tilerelease", ValueRange());
}

void CpuBuilder::zeroTile(int64_t tile) {
  intrinsic("llvm.x86.tilezero", tileNumber(tile));
}

void CpuBuilder::loadTile(int64_t tile, Value pointer, int64_t strideBytes) {
  intrinsic("llvm.x86.tileloadd64",
            {tileNumber(tile), pointer, integer(strideBytes)});
}

void CpuBuilder::storeTile(int64_t tile, Value pointer, int64_t strideBytes) {
  intrinsic("llvm.x86.tilestored64",
            {tileNumber(tile), pointer, integer(strideBytes)});
}

void CpuBuilder::dotTilesBF16(int64_t sums, int64_t a, int64_t b) {
  intrinsic("llvm.x86.tdpbf16ps",
            {tileNumber(sums), tileNumber(a), tileNumber(b)});
}

void CpuBuilder::dotTilesBytes(int64_t sums, int64_t a, int64_t b) {
  intrinsic("llvm.x86.tdpbsud",
            {tileNumber(sums), tileNumber(a), tileNumber(b)});
}
