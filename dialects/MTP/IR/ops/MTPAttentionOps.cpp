//===- MTPAttentionOps.cpp - Verifiers of attention and positions ---------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"

using namespace mlir;
using namespace mlir::mtp;

/// Checks the scale, and the window if there is one.
static LogicalResult verifyScaleAndWindow(Operation *op, const APFloat &scale,
                                          std::optional<int64_t> window) {
  if (failed(expectFinitePositive(op, "scale", scale)))
    return failure();
  return window ? expectPositive(op, "window", *window) : success();
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  int64_t heads = getHeads(), headDim = getHeadDim(), offset = getOffset();
  if (failed(expectPositive(*this, "heads", heads)) ||
      failed(expectPositive(*this, "head width", headDim))) { // rope_c1
    return failure();
  }
  FailureOr<int64_t> width = product(*this, "heads", heads, headDim);
  if (failed(width) || failed(expectWidth(*this, "the rows", getX(), *width)))
    return failure();
  int64_t dim = getRope().getDim();
  if (offset < 0 || offset > headDim - dim) { // rope_c2
    return emitOpError("expected the rotated columns within a head of ")
           << headDim << ", got " << dim << " at " << offset;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

int64_t AttentionOp::getKeyDim() {
  return widthOf(getK()) / static_cast<int64_t>(getKvHeads());
}

int64_t AttentionOp::getValueDim() {
  if (std::optional<int64_t> prefix = getValuePrefix())
    return *prefix;
  return widthOf(getV()) / static_cast<int64_t>(getKvHeads());
}

int64_t AttentionOp::getEntryWidth() {
  return widthOf(getK()) + (getV() ? widthOf(getV()) : 0);
}

/// Checks attention_c1 to attention_c3.
static LogicalResult verifyQueryAndKey(AttentionOp op) {
  int64_t heads = op.getHeads(), kvHeads = op.getKvHeads();
  if (failed(expectPositive(op, "heads", heads)) ||
      failed(expectPositive(op, "kv_heads", kvHeads))) {
    return failure();
  }
  if (heads % kvHeads != 0) { // attention_c1
    return op.emitOpError("expected kv_heads to divide ")
           << heads << " heads, got " << kvHeads;
  }
  FailureOr<int64_t> q = staticWidth(op, "the query", op.getQ());
  FailureOr<int64_t> k = staticWidth(op, "the key", op.getK());
  if (failed(q) || failed(k) ||
      failed(expectRows(op, "a query", op.getQ(), op.getResult())) ||
      failed(expectRows(op, "a key", op.getK(), op.getResult()))) {
    return failure();
  }
  if (*k % kvHeads != 0 || *q % heads != 0 ||
      *q / heads != *k / kvHeads) { // attention_c3
    return op.emitOpError("expected one width of query and key heads, got ")
           << *q << " for " << heads << " and " << *k << " for " << kvHeads;
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  if (failed(verifyQueryAndKey(*this)))
    return failure();
  std::optional<int64_t> prefix = getValuePrefix();
  if (static_cast<bool>(getV()) == prefix.has_value()) // attention_c4
    return emitOpError("expected either a value operand or values");
  if (prefix && (*prefix < 1 || *prefix > getKeyDim())) { // attention_c4
    return emitOpError("expected values within a key head of ")
           << getKeyDim() << ", got " << *prefix;
  }
  if (Value v = getV()) {
    FailureOr<int64_t> width = staticWidth(*this, "the value", v);
    if (failed(width) || failed(expectRows(*this, "a value", v, getResult())))
      return failure();
    int64_t kvHeads = getKvHeads();
    if (*width % kvHeads != 0) { // attention_c4
      return emitOpError("expected ")
             << kvHeads << " kv_heads to divide the value's width, got "
             << *width;
    }
  }
  int64_t heads = getHeads();
  FailureOr<int64_t> width = product(*this, "heads", heads, getValueDim());
  if (failed(width) ||
      failed(expectWidth(*this, "the result", getResult(), *width))) {
    return failure(); // attention_c5
  }
  return verifyScaleAndWindow(*this, getScale(), getWindow());
}

LogicalResult AttentionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (hasOpenWidths(*this))
    return success();
  return verifyCacheUse(*this, symbols, getCacheAttr(), getLayer(),
                        getEntryWidth());
}

//===----------------------------------------------------------------------===//
// Latent attention
//===----------------------------------------------------------------------===//

int64_t MlaAttentionOp::getEntryWidth() {
  return widthOf(getC()) + widthOf(getKPe());
}

LogicalResult MlaAttentionOp::verify() {
  int64_t heads = getHeads(), nope = getNope(), rope = getRope();
  int64_t value = getValue();
  if (failed(expectPositive(*this, "heads", heads)) || // mla_attention_c1
      failed(expectPositive(*this, "nope", nope)) ||
      failed(expectPositive(*this, "rope", rope)) ||
      failed(expectPositive(*this, "value", value))) {
    return failure();
  }
  for (Value operand : {getQ(), getC(), getKPe()}) // mla_attention_c2
    if (failed(expectRows(*this, "an operand", operand, getResult())))
      return failure();
  // The weight bounds the columns of a head, so sums cannot overflow once the
  // products are checked.
  FailureOr<int64_t> nopes = product(*this, "heads", heads, nope);
  FailureOr<int64_t> ropes = product(*this, "heads", heads, rope);
  FailureOr<int64_t> values = product(*this, "heads", heads, value);
  FailureOr<int64_t> latent = staticWidth(*this, "c", getC());
  if (failed(nopes) || failed(ropes) || failed(values) || failed(latent) ||
      failed(expectWidth(*this, "the query", getQ(), *nopes + *ropes)) ||
      failed(expectWidth(*this, "k_pe", getKPe(), rope)) || // mla_attention_c3
      failed(expectMatrix(*this, "kv_b", getKvB(), *nopes + *values,
                          *latent)) || // mla_attention_c4
      failed(expectWidth(*this, "the result", getResult(),
                         *values))) { // mla_attention_c5
    return failure();
  }
  return verifyScaleAndWindow(*this, getScale(), getWindow());
}

LogicalResult MlaAttentionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyCacheUse(*this, symbols, getCacheAttr(), getLayer(),
                        getEntryWidth());
}
