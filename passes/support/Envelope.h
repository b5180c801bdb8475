//===- Envelope.h - Sizes that follow from the envelope ---------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_ENVELOPE_H
#define MTP_PASSES_SUPPORT_ENVELOPE_H

#include "dialects/MTP/IR/MTPAttrs.h"

namespace mlir::mtp {

/// Returns the number of pages that a slot of full length holds.
inline int64_t pagesPerSlot(EnvelopeAttr envelope) {
  return envelope.getPagesPerSlot();
}

/// Returns the length of a split of attention in positions; 0 if contexts are
/// not split. A split begins at a multiple of its length. Every program of a
/// module uses one length, so that a row's bits do not depend on the program
/// that computes the row. Splits are long enough that combining them costs
/// little, and few enough that a row's partial results are small. Contexts
/// shorter than four splits are not split: one worker finishes them so fast
/// that another barrier would cost more than it saves.
inline int64_t attentionSplit(EnvelopeAttr envelope) {
  constexpr int64_t kLeastPositions = 512, kLeastSplits = 4, kMostSplits = 64;
  int64_t positions = pagesPerSlot(envelope) * envelope.getPage();
  int64_t split = kLeastPositions;
  while (split * kMostSplits < positions)
    split *= 2;
  return kLeastSplits * split <= positions ? split : 0;
}

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_ENVELOPE_H
