//===- PlaceCacheWrites.cpp - Make cache writes explicit ------------------===//
//
// Attention of the model family means "append my rows, then attend". An entry
// of a layer holds the keys of all heads and then the values of all heads. For
// absorbed MLA it holds the latent and the rotated key that all heads share.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "passes/Passes.h"
#include <optional>

namespace mlir::mtp {
#define GEN_PASS_DEF_PLACECACHEWRITESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct PlaceCacheWritesPass
    : public mlir::mtp::impl::PlaceCacheWritesPassBase<PlaceCacheWritesPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult place(AttentionOp attention);
  void append(OpBuilder &builder, AttentionOp attention, Value x, int64_t at);
};
} // namespace

void PlaceCacheWritesPass::append(OpBuilder &builder, AttentionOp attention,
                                  Value x, int64_t at) {
  CacheAppendOp::create(builder, attention.getLoc(), x, attention.getRows(),
                        *attention.getCache(), *attention.getLayer(), at);
  ++numAppends;
}

/// Returns the latent and the rotary part of a row, which have a scale each in
/// a cache of integers; nothing if a row is one piece.
static std::optional<std::pair<Value, Value>>
latentParts(OpBuilder &builder, AttentionOp attention) {
  auto cache = SymbolTable::lookupNearestSymbolFrom<CacheOp>(
      attention, attention.getCacheAttr());
  Value row = attention.getK();
  int64_t latent = attention.getValueDim();
  int64_t width = cast<RankedTensorType>(row.getType()).getDimSize(1);
  if (!cache || !cache.getElementType().isSignlessInteger(8) ||
      attention.getV() || attention.getKvHeads() != 1 || latent == width)
    return std::nullopt;
  auto concat = row.getDefiningOp<ConcatOp>();
  if (concat && concat.getInputs().size() == 2) {
    Value first = concat.getInputs()[0];
    if (cast<RankedTensorType>(first.getType()).getDimSize(1) == latent)
      return std::pair(first, concat.getInputs()[1]);
  }
  auto slice = [&](int64_t begin, int64_t end) -> Value {
    auto type = cast<RankedTensorType>(row.getType());
    return SliceOp::create(
        builder, attention.getLoc(),
        RankedTensorType::get({type.getDimSize(0), end - begin},
                              type.getElementType()),
        row, builder.getI64IntegerAttr(begin), builder.getI64IntegerAttr(end));
  };
  return std::pair(slice(0, latent), slice(latent, width));
}

LogicalResult PlaceCacheWritesPass::place(AttentionOp attention) {
  if (!attention.getCache() || !attention.getLayer()) {
    return attention.emitOpError("expected a cache and a layer; give the "
                                 "mtp.apply around it `cache @symbol[layer]`");
  }
  OpBuilder builder(attention);
  int64_t keys =
      cast<RankedTensorType>(attention.getK().getType()).getDimSize(1);
  if (auto parts = latentParts(builder, attention)) {
    append(builder, attention, parts->first, 0);
    append(builder, attention, parts->second, attention.getValueDim());
  } else {
    append(builder, attention, attention.getK(), 0);
  }
  int64_t valuesAt = 0;
  if (Value values = attention.getV()) {
    append(builder, attention, values, keys);
    valuesAt = keys;
  }
  auto cached = CachedAttentionOp::create(
      builder, attention.getLoc(), attention.getType(), attention.getQ(),
      attention.getRows(), attention.getCacheAttr(), attention.getLayerAttr(),
      attention.getHeadsAttr(), attention.getKvHeadsAttr(),
      builder.getI64IntegerAttr(attention.getKeyDim()),
      builder.getI64IntegerAttr(0),
      builder.getI64IntegerAttr(attention.getValueDim()),
      builder.getI64IntegerAttr(valuesAt), attention.getScaleAttr(),
      attention.getWindowAttr());
  attention.replaceAllUsesWith(cached.getResult());
  attention.erase();
  return success();
}

void PlaceCacheWritesPass::runOnOperation() {
  for (auto program : getOperation().getOps<exec::ProgramOp>()) {
    for (AttentionOp attention :
         llvm::to_vector(program.getBody().getOps<AttentionOp>())) {
      if (failed(place(attention)))
        return signalPassFailure();
    }
  }
}
