//===- Envelope.h - Sizes that follow from the envelope ---------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_ENVELOPE_H
#define MTP_PASSES_SUPPORT_ENVELOPE_H

#include "dialects/MTP/IR/MTPAttrs.h"

namespace mlir::mtp {

/// Pages that a slot of full length holds.
inline int64_t pagesPerSlot(EnvelopeAttr envelope) {
  return envelope.getPagesPerSlot();
}

/// Positions that attention adds up apart from others, from a multiple of as
/// many on; 0 where all are added up together. Every program of a module has
/// the same parts, so that a row's bits do not depend on which one computes it.
/// They are large enough for joining to cost little, and few enough for what is
/// left of a row to be small. Contexts of less than four parts have none: one
/// worker is done with them so soon that a further barrier would cost more than
/// it saves.
inline int64_t attentionPart(EnvelopeAttr envelope) {
  constexpr int64_t kLeastPositions = 512, kLeastParts = 4, kMostParts = 64;
  int64_t positions = pagesPerSlot(envelope) * envelope.getPage();
  int64_t part = kLeastPositions;
  while (part * kMostParts < positions)
    part *= 2;
  return kLeastParts * part <= positions ? part : 0;
}

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_ENVELOPE_H
