//===- Envelope.h - Sizes that follow from the envelope ---------*- C++ -*-===//

#ifndef MTP_PASSES_ENVELOPE_H
#define MTP_PASSES_ENVELOPE_H

#include "dialects/MTP/IR/MTPAttrs.h"

namespace mlir::mtp {

/// Positions that a row may take: a round that starts at the last one of the
/// context still writes max_k drafts.
inline int64_t positionCount(EnvelopeAttr envelope) {
  return envelope.getMaxContext() + envelope.getMaxK() + 1;
}

/// Pages that a slot of full length holds.
inline int64_t pagesPerSlot(EnvelopeAttr envelope) {
  return (positionCount(envelope) + envelope.getPage() - 1) /
         envelope.getPage();
}

} // namespace mlir::mtp

#endif // MTP_PASSES_ENVELOPE_H
