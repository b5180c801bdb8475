//===- CacheElements.h - Element types of a KV cache ------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_CACHEELEMENTS_H
#define MTP_DIALECTS_EXEC_IR_CACHEELEMENTS_H

#include "mlir/IR/Types.h"
#include "runtime/schema/KvPage.h"

namespace mlir::exec {

/// Returns whether elements of a cache are integers with scales.
inline bool hasScales(Type element) { return element.isSignlessInteger(8); }

/// Returns whether a cache can have elements of `type`.
inline bool isCacheElement(Type type) {
  return type.isF32() || type.isBF16() || hasScales(type);
}

/// Returns whether a head's share of `width` elements has room for scales, if
/// elements have scales.
inline bool hasScaleRoom(Type element, int64_t width) {
  return !hasScales(element) ||
         (width % 4 == 0 && width > int64_t(::mtp::kEntryScaleBytes));
}

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_CACHEELEMENTS_H
