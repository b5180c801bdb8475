//===- MTPRecurrenceOps.cpp - Layers with a recurrent state ---------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"
#include "runtime/schema/Limits.h"

using namespace mlir;
using namespace mlir::mtp;

/// Checks recurrence_c4: all sizes are positive.
static LogicalResult verifyNumbers(RecurrenceOp op) {
  constexpr int64_t kMostNumbers = int64_t(1) << 46;
  auto envelope = op->getParentOp()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  int64_t slots = envelope ? int64_t(envelope.getMaxBatch()) : 1;
  int64_t kept = envelope ? int64_t(envelope.getMaxK()) + 1 : 1;
  auto fits = [&](int64_t a, int64_t b, int64_t c) {
    int64_t numbers;
    return !llvm::MulOverflow(a, b, numbers) &&
           !llvm::MulOverflow(numbers, c, numbers) &&
           !llvm::MulOverflow(numbers, slots, numbers) &&
           numbers <= kMostNumbers;
  };
  int64_t heads = op.getHeads(), keys = op.getKeys(), values = op.getValues();
  // The order of the two checks keeps the sum of the second within range.
  if (fits(heads, keys, values) &&
      fits(heads, keys + values + op.getDecays(), std::max<int64_t>(kept, 2)) &&
      fits(op.getColumns(), op.getWindow() + kept, 1))
    return success();
  return op.emitOpError("expected at most 2^46 numbers of a layer within the "
                        "envelope");
}

LogicalResult RecurrenceOp::verify() {
  int64_t layers = getLayers(), heads = getHeads(), keyHeads = getKeyHeads();
  int64_t window = getWindow();
  if (layers < 1 || layers > ::mtp::kMostLayers) // recurrence_c1
    return emitOpError("expected layers in [1, ")
           << ::mtp::kMostLayers << "], got " << layers;
  if (failed(expectPositive(*this, "heads", heads)) || // recurrence_c2
      failed(expectPositive(*this, "keys", getKeys())) ||
      failed(expectPositive(*this, "values", getValues())) ||
      failed(expectPositive(*this, "key_heads", keyHeads)))
    return failure();
  for (int64_t size : {heads, int64_t(getKeys()), int64_t(getValues())})
    if (size > ::mtp::kMostEntry) // recurrence_c4
      return emitOpError("expected at most 2^46 numbers of a layer within the "
                         "envelope");
  if (heads % keyHeads != 0) // recurrence_c2
    return emitOpError("expected key_heads that divide ")
           << heads << " heads, got " << keyHeads;
  constexpr int64_t kMostWindow = 64;
  if (window < 2 || window > kMostWindow) // recurrence_c3
    return emitOpError("expected a window of 2 to ")
           << kMostWindow << " rows, got " << window;
  return verifyNumbers(*this);
}

FailureOr<RecurrenceOp>
mlir::mtp::findRecurrence(Operation *op, SymbolTableCollection &symbols,
                          FlatSymbolRefAttr name,
                          std::optional<int64_t> layer) {
  if (!name)
    return RecurrenceOp();
  auto memory = symbols.lookupNearestSymbolFrom<RecurrenceOp>(op, name);
  if (!memory) {
    op->emitOpError("expected ") << name << " to be an mtp.recurrence";
    return failure();
  }
  int64_t layers = memory.getLayers();
  if (!layer) {
    op->emitOpError("expected a layer of ") << name << ", got none";
    return failure();
  }
  if (*layer < 0 || *layer >= layers) {
    InFlightDiagnostic diag = op->emitOpError("expected a layer of ")
                              << name << " below " << layers << ", got "
                              << *layer;
    diag.attachNote(memory.getLoc()) << "the recurrence is declared here";
    return failure();
  }
  return memory;
}

//===----------------------------------------------------------------------===//
// causal_conv
//===----------------------------------------------------------------------===//

LogicalResult CausalConvOp::verify() {
  FailureOr<int64_t> width = staticWidth(*this, "the rows", getX());
  auto weight = cast<RankedTensorType>(getWeight().getType());
  if (failed(width))
    return failure();
  if (!weight.hasStaticShape() || weight.getDimSize(0) != *width)
    return emitOpError("expected a weight with a row for each of ")
           << *width << " columns, got " << weight; // causal_conv_c1
  return success();
}

LogicalResult CausalConvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<RecurrenceOp> memory =
      findRecurrence(*this, symbols, getMemoryAttr(), getLayer());
  if (failed(memory) || !*memory)
    return failure(failed(memory));
  auto weight = cast<RankedTensorType>(getWeight().getType());
  int64_t columns = memory->getColumns(), window = memory->getWindow();
  if (weight.getDimSize(0) == columns && weight.getDimSize(1) == window)
    return success();
  InFlightDiagnostic diag = emitOpError("expected ") // causal_conv_c2
                            << columns << " columns and a window of " << window
                            << " for " << getMemoryAttr() << ", got "
                            << weight.getDimSize(0) << " and "
                            << weight.getDimSize(1);
  diag.attachNote(memory->getLoc()) << "the recurrence is declared here";
  return diag;
}

//===----------------------------------------------------------------------===//
// delta_rule
//===----------------------------------------------------------------------===//

LogicalResult DeltaRuleOp::verify() {
  if (failed(staticWidth(*this, "the queries", getQ())) || // delta_rule_c1
      failed(staticWidth(*this, "the values", getV())) ||
      failed(staticWidth(*this, "the decays", getDecay())) ||
      failed(staticWidth(*this, "the betas", getBeta())) ||
      failed(expectFinitePositive(*this, "scale", getScale())))
    return failure();
  if (failed(expectRows(*this, "the queries", getQ(), getV())) ||
      failed(expectRows(*this, "the decays", getDecay(), getV())))
    return failure(); // delta_rule_c2
  return expectRows(*this, "the betas", getBeta(), getV());
}

LogicalResult DeltaRuleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<RecurrenceOp> found =
      findRecurrence(*this, symbols, getMemoryAttr(), getLayer());
  if (failed(found) || !*found)
    return failure(failed(found));
  RecurrenceOp memory = *found;
  int64_t heads = memory.getHeads(), decays = heads * memory.getDecays();
  int64_t keys = int64_t(memory.getKeyHeads()) * int64_t(memory.getKeys());
  int64_t values = heads * int64_t(memory.getValues());
  int64_t q = widthOf(getQ()), v = widthOf(getV());
  int64_t g = widthOf(getDecay()), b = widthOf(getBeta());
  if (q == keys && v == values && g == decays && b == heads)
    return success();
  InFlightDiagnostic diag =
      emitOpError("expected ") // delta_rule_c3
      << keys << " columns of keys, " << values << " of values, " << decays
      << " decays and " << heads << " betas for " << getMemoryAttr() << ", got "
      << q << ", " << v << ", " << g << " and " << b;
  diag.attachNote(memory.getLoc()) << "the recurrence is declared here";
  return diag;
}
