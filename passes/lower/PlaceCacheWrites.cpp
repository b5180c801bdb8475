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

LogicalResult PlaceCacheWritesPass::place(AttentionOp attention) {
  if (!attention.getCache() || !attention.getLayer()) {
    return attention.emitOpError("expected a cache and a layer; give the "
                                 "mtp.apply around it `cache @symbol[layer]`");
  }
  OpBuilder builder(attention);
  int64_t keys =
      cast<RankedTensorType>(attention.getK().getType()).getDimSize(1);
  append(builder, attention, attention.getK(), 0);
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
