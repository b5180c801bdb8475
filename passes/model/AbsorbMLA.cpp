//===- AbsorbMLA.cpp - Attend to latents ----------------------------------===//
//
// With c the cached latent, head h has the key K_h c and the value V_h c. So q
// . (K_h c) = (K_h^T q) . c, and the weighted sum of values is V_h times the
// weighted sum of latents. Both products move to the query's and the result's
// side.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "passes/Passes.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_ABSORBMLAPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct AbsorbMLAPass
    : public mlir::mtp::impl::AbsorbMLAPassBase<AbsorbMLAPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// The sizes of an attention, signed for arithmetic.
struct Sizes {
  explicit Sizes(MlaAttentionOp op)
      : heads(op.getHeads()), nope(op.getNope()), rope(op.getRope()),
        value(op.getValue()), latent(widthOf(op.getC())) {}

  int64_t heads, nope, rope, value, latent;
};
} // namespace

/// Returns the type of an activation with the rows of `like` and `width`
/// columns.
static Type withWidth(Value like, int64_t width) {
  auto type = cast<RankedTensorType>(like.getType());
  return RankedTensorType::get({type.getDimSize(0), width},
                               type.getElementType());
}

/// Computes per head K_h^T times the query's unrotated part, followed by its
/// rotated part.
static Value absorbQuery(OpBuilder &builder, MlaAttentionOp op,
                         const Sizes &sizes) {
  int64_t head = sizes.nope + sizes.rope;
  Type type = withWidth(op.getQ(), sizes.heads * (sizes.latent + sizes.rope));
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  return HeadLinearOp::create(
      builder, op.getLoc(), type, op.getQ(), op.getKvB(), i64(sizes.heads),
      /*col_begin=*/i64(0), /*col_end=*/i64(sizes.nope),
      /*block_begin=*/i64(0), /*block_end=*/i64(sizes.nope),
      /*block_stride=*/i64(sizes.nope + sizes.value), builder.getUnitAttr(),
      /*keep_begin=*/i64(sizes.nope), /*keep_end=*/i64(head));
}

/// Computes per head V_h times the attended latent.
static Value expandValue(OpBuilder &builder, MlaAttentionOp op, Value attended,
                         const Sizes &sizes) {
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  int64_t stride = sizes.nope + sizes.value;
  return HeadLinearOp::create(
      builder, op.getLoc(), op.getResult().getType(), attended, op.getKvB(),
      i64(sizes.heads), /*col_begin=*/i64(0), /*col_end=*/i64(sizes.latent),
      /*block_begin=*/i64(sizes.nope), /*block_end=*/i64(stride),
      /*block_stride=*/i64(stride), /*transposed=*/UnitAttr(),
      /*keep_begin=*/IntegerAttr(), /*keep_end=*/IntegerAttr());
}

static void absorb(MlaAttentionOp op) {
  OpBuilder builder(op);
  Sizes sizes(op);
  Value query = absorbQuery(builder, op, sizes);
  Value key = ConcatOp::create(builder, op.getLoc(),
                               withWidth(op.getC(), sizes.latent + sizes.rope),
                               ValueRange{op.getC(), op.getKPe()});
  Value attended = AttentionOp::create(
      builder, op.getLoc(), withWidth(op.getQ(), sizes.heads * sizes.latent),
      query, key, /*v=*/Value(), op.getRows(),
      builder.getI64IntegerAttr(sizes.heads), builder.getI64IntegerAttr(1),
      builder.getI64IntegerAttr(sizes.latent), op.getScaleAttr(),
      op.getWindowAttr(), op.getCacheAttr(), op.getLayerAttr());
  op.replaceAllUsesWith(expandValue(builder, op, attended, sizes));
  op.erase();
}

void AbsorbMLAPass::runOnOperation() {
  SmallVector<MlaAttentionOp> attentions;
  getOperation().walk([&](MlaAttentionOp op) { attentions.push_back(op); });
  for (MlaAttentionOp op : attentions)
    absorb(op);
  numAbsorbed += attentions.size();
}
