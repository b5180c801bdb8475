//===- PaddingSlots.cpp - Free slots that fill a batch --------------------===//

#include "runtime/exec/launch/PaddingSlots.h"

#include <algorithm>
#include <array>

using namespace mtp;

PaddingSlots::PaddingSlots(const Artifact &artifact, Executable &executable,
                           HostState &host, RuleStates &rules)
    : executable(executable), host(host), rules(rules),
      length(artifact.findState("length")),
      ready(artifact.envelope->max_batch(), false) {}

/// Gives a slot the states of a new sequence without a request's parameters.
Status PaddingSlots::clear(SequenceMemory &memory, uint32_t slot) {
  MTP_RETURN_IF_ERROR(memory.clearSlot(slot));
  SamplingRow greedy = {};
  greedy.topP = 1;
  greedy.skipLogits = 1;
  MTP_RETURN_IF_ERROR(host.setSampling(slot, greedy));
  return rules.write(slot, Request(), {}, {});
}

Result<std::vector<RoundWork::Padding>>
PaddingSlots::begin(SequenceMemory &memory, std::span<const uint32_t> slots,
                    uint64_t positions) {
  KvCacheManager &pages = memory.pages();
  // Prefixes in the cache save more time than padding does.
  if (pages.pagesFor(positions) * slots.size() > pages.freePages())
    return std::vector<RoundWork::Padding>();
  for (uint32_t slot : slots) {
    held.push_back(slot);
    if (!pages.grow(slot, positions, /*isPadding=*/true)) {
      end(memory);
      return std::vector<RoundWork::Padding>();
    }
  }
  std::vector<RoundWork::Padding> padding;
  for (uint32_t slot : slots) {
    if (!ready[slot])
      MTP_RETURN_IF_ERROR(clear(memory, slot));
    ready[slot] = true;
    // Rounds of padding advance, too.
    int32_t first = 0;
    MTP_RETURN_IF_ERROR(executable.write(
        {schema::Space::State, *length, slot * sizeof(first), sizeof(first)},
        &first, sizeof(first)));
    uint64_t capacity = pages.capacity(slot);
    // No row of the slot has a position after its pages.
    MTP_RETURN_IF_ERROR(host.setPageTable(
        slot, pages.table(slot).first(size_t(pages.pagesFor(capacity)))));
    padding.push_back({slot, capacity});
  }
  return padding;
}

void PaddingSlots::end(SequenceMemory &memory) {
  for (uint32_t slot : held)
    memory.release(slot);
  held.clear();
}
