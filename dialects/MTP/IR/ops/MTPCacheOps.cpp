//===- MTPCacheOps.cpp - Verifiers of the cache operations ----------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"
#include "runtime/schema/Limits.h"

using namespace mlir;
using namespace mlir::mtp;

LogicalResult CacheOp::verify() {
  int64_t layers = getLayers(), entry = getEntry();
  if (layers < 1 || layers > ::mtp::kMostLayers) // cache_c1
    return emitOpError("expected layers in [1, ")
           << ::mtp::kMostLayers << "], got " << layers;
  if (entry < 1 || entry > ::mtp::kMostEntry) // cache_c1
    return emitOpError("expected an entry width in [1, 2^20], got ") << entry;
  Type type = getElementType();
  if (!type.isF32() && !type.isBF16() && !type.isSignlessInteger(8)) // cache_c2
    return emitOpError("expected f32, bf16 or i8 elements, got ") << type;
  return success();
}

//===----------------------------------------------------------------------===//
// cache_append
//===----------------------------------------------------------------------===//

LogicalResult CacheAppendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  int64_t at = getAt();
  FailureOr<int64_t> width = staticWidth(*this, "the rows", getX());
  if (failed(width))
    return failure();
  if (at < 0 || at > ::mtp::kMostEntry) // cache_append_c2
    return emitOpError("expected a place within the entry, got ") << at;
  return verifyCacheUse(*this, symbols, getCacheAttr(), getLayer(),
                        at + *width);
}

//===----------------------------------------------------------------------===//
// cached_attention
//===----------------------------------------------------------------------===//

LogicalResult CachedAttentionOp::verify() {
  int64_t heads = getHeads(), kvHeads = getKvHeads();
  int64_t keys = getKeys(), values = getValues();
  if (failed(expectPositive(*this, "heads", heads)) || // cached_attention_c2
      failed(expectPositive(*this, "kv_heads", kvHeads)) ||
      failed(expectPositive(*this, "keys", keys)) ||
      failed(expectPositive(*this, "values", values))) {
    return failure();
  }
  if (heads % kvHeads != 0) {
    return emitOpError("expected kv_heads to divide ")
           << heads << " heads, got " << kvHeads;
  }
  FailureOr<int64_t> q = product(*this, "heads", heads, keys);
  FailureOr<int64_t> y = product(*this, "heads", heads, values);
  if (failed(q) || failed(y) ||
      failed(
          expectWidth(*this, "the query", getQ(), *q)) || // cached_attention_c3
      failed(expectWidth(*this, "the result", getResult(), *y)) ||
      failed(expectRows(*this, "a result", getResult(), getQ())) ||
      failed(expectFinitePositive(*this, "scale",
                                  getScale()))) { // cached_attention_c5
    return failure();
  }
  return getWindow() ? expectPositive(*this, "window", *getWindow())
                     : success();
}

LogicalResult
CachedAttentionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  int64_t kvHeads = getKvHeads();
  int64_t keysAt = getKeysAt(), valuesAt = getValuesAt();
  if (keysAt < 0 || keysAt > ::mtp::kMostEntry || valuesAt < 0 ||
      valuesAt > ::mtp::kMostEntry) { // cached_attention_c4
    return emitOpError("expected keys and values within the entry, got ")
           << keysAt << " and " << valuesAt;
  }
  // kv_heads is at most heads, so the checked widths bound these products.
  int64_t end = std::max<int64_t>(keysAt + kvHeads * getKeys(),
                                  valuesAt + kvHeads * getValues());
  return verifyCacheUse(*this, symbols, getCacheAttr(), getLayer(), end);
}

//===----------------------------------------------------------------------===//
// Between rounds
//===----------------------------------------------------------------------===//

LogicalResult CommitOp::verify() {
  if (failed(expectRows(*this, "picks", getPicks(), getCount()))) // commit_c1
    return failure();
  return getPath() ? expectRows(*this, "a path", getPath(), getCount())
                   : success();
}

LogicalResult CacheMoveOp::verify() {
  return expectRows(*this, "positions", getFrom(), getSlots()); // cache_move_c2
}

LogicalResult CacheMoveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyCacheUse(*this, symbols, getCacheAttr(), std::nullopt, 0);
}
