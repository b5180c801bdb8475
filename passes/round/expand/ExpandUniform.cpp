//===- ExpandUniform.cpp - mtp.uniform as integer code --------------------===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011), keyed by the slot's seed, with counters that no other noise uses.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDUNIFORMPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct ExpandUniformPass
    : public mlir::mtp::impl::ExpandUniformPassBase<ExpandUniformPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// Writes the generator for one op.
class PhiloxWriter {
public:
  explicit PhiloxWriter(UniformOp op) : builder(op.getLoc(), op) {}

  /// Returns word 0 for this counter.
  Value word(std::array<Value, 4> counter);
  Value constant(uint32_t value) {
    return arith::ConstantIntOp::create(builder, int32_t(value), 32);
  }
  Value seed(int64_t index) {
    return LoadOp::create(
        builder, builder.getI32Type(), states::kSampling,
        ValueRange(arith::ConstantIndexOp::create(builder, index)));
  }
  /// Returns the upper 24 bits as a fraction.
  Value fraction(Value word);

private:
  Value mix(Value a, Value b, Value c) {
    return arith::XOrIOp::create(builder, arith::XOrIOp::create(builder, a, b),
                                 c);
  }

  ImplicitLocOpBuilder builder;
};
} // namespace

/// The word of the counter that separates these numbers from the noise of
/// `mtp.sample` (runtime/schema/FORMAT.md).
static constexpr uint32_t kUniformPurpose = 2;

Value PhiloxWriter::word(std::array<Value, 4> counter) {
  Value key0 = seed(0), key1 = seed(1);
  for (int round = 0; round < 10; ++round) {
    auto left = arith::MulUIExtendedOp::create(builder, constant(0xD2511F53),
                                               counter[0]);
    auto right = arith::MulUIExtendedOp::create(builder, constant(0xCD9E8D57),
                                                counter[2]);
    counter = {mix(right.getHigh(), counter[1], key0), right.getLow(),
               mix(left.getHigh(), counter[3], key1), left.getLow()};
    key0 = arith::AddIOp::create(builder, key0, constant(0x9E3779B9));
    key1 = arith::AddIOp::create(builder, key1, constant(0xBB67AE85));
  }
  return counter[0];
}

Value PhiloxWriter::fraction(Value word) {
  Value upper = arith::ShRUIOp::create(builder, word, constant(8));
  Value number = arith::UIToFPOp::create(builder, builder.getF32Type(), upper);
  Value unit =
      arith::ConstantOp::create(builder, builder.getF32FloatAttr(0x1p-24f));
  return arith::MulFOp::create(builder, number, unit);
}

static LogicalResult expand(UniformOp op) {
  useState(op->getParentOfType<ModuleOp>(), states::kSampling);
  PhiloxWriter writer(op);
  Value word = writer.word({op.getPosition(), writer.constant(kUniformPurpose),
                            op.getNumber(), writer.constant(0)});
  op.replaceAllUsesWith(writer.fraction(word));
  op.erase();
  return success();
}

void ExpandUniformPass::runOnOperation() {
  if (failed(expandAll<UniformOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
