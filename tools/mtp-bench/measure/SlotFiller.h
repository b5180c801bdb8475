//===- SlotFiller.h - Random entries of caches and states -------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_SLOTFILLER_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_SLOTFILLER_H

#include "mtp/model.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/device/Device.h"

#include <random>
#include <vector>

namespace mtp::bench {

/// Fills caches and hidden states with random values, in place of those that a
/// prompt would leave. The pages of a slot follow each other.
class SlotFiller {
public:
  SlotFiller(const Artifact &artifact, const EnvelopeInfo &envelope,
             uint64_t seed);

  /// Draws a page for each cache, and fills the hidden states of rounds that
  /// never ran: zeros would make norms cheap or denormal.
  Status start(Executable &loaded, uint32_t slots);

  uint32_t pagesPerSlot() const { return pagesOfSlot; }
  /// Returns the pages of a slot at full context.
  std::vector<int32_t> pagesOf(uint32_t slot) const;
  /// Fills the pages of a slot's first `tokens` tokens that are not filled.
  Status fill(uint32_t slot, uint32_t tokens);
  /// Notes that other entries follow the first `tokens` tokens of a slot.
  void noteTokens(uint32_t slot, uint32_t tokens) {
    filled[slot] = tokens / envelope.pageTokens;
  }

  /// Returns random tokens of the vocabulary.
  std::vector<int32_t> tokens(uint32_t count);

private:
  Status fillHidden();

  const Artifact &artifact;
  const EnvelopeInfo &envelope;
  Executable *executable = nullptr;
  std::mt19937_64 random;
  uint32_t pagesOfSlot;
  /// For each cache, one page of random entries.
  std::vector<std::vector<uint8_t>> pages;
  /// The number of filled pages of each slot.
  std::vector<uint32_t> filled;
};

/// Returns all bytes of a state.
inline Binding wholeState(const Artifact &artifact, uint32_t index) {
  return {schema::Space::State, index, 0, artifact.states[index].bytes};
}

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_SLOTFILLER_H
