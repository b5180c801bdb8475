//===- SequenceMemory.cpp - Pages and states of sequences -----------------===//

#include "runtime/exec/memory/SequenceMemory.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/KvPage.h"

#include <algorithm>
#include <array>
#include <utility>

using namespace mtp;

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<SequenceMemory>>
SequenceMemory::create(const Artifact &artifact, Executable &executable,
                       SequenceMemoryOptions options) {
  std::unique_ptr<SequenceMemory> memory(
      new SequenceMemory(std::move(options)));
  MTP_RETURN_IF_ERROR(memory->start(artifact, executable));
  return memory;
}

Status SequenceMemory::start(const Artifact &artifact, Executable &executable) {
  const PrefixReusePolicy &reuse = options.reuse;
  if (reuse.needsSnapshots)
    store = std::make_unique<Snapshots>(
        artifact, executable,
        SnapshotLimits{options.session.snapshotBytes,
                       options.envelope.pageTokens, reuse.lookahead,
                       reuse.rerun, reuse.filled});
  KvConfig config = kvConfig();
  MTP_ASSIGN_OR_RETURN(
      tableMemory, hostMemory().reserve(KvCacheManager::memoryBytes(config),
                                        strCat("the tables of ", config.pages,
                                               " KV pages (kv_pages)"),
                                        options.limit));
  kv = std::make_unique<KvCacheManager>(config);
  stateCopies = std::make_unique<StateCopies>(store.get(), *kv, copyRules(),
                                              options.limit);
  MTP_ASSIGN_OR_RETURN(slotStates, SlotStates::create(artifact, executable));
  return okStatus();
}

KvConfig SequenceMemory::kvConfig() const {
  const EnvelopeInfo &e = options.envelope;
  const PrefixReusePolicy &reuse = options.reuse;
  KvConfig config;
  config.pages = options.session.kvPages;
  config.pageTokens = e.pageTokens;
  // The last slot is for pages that no sequence computes.
  config.slots = options.session.maxSlots + 1;
  config.tableWidth = uint32_t(pagesPerSlot(e.maxContext, e.pageTokens));
  config.lookahead = reuse.lookahead;
  config.rerun = reuse.rerun;
  config.spare = options.sparePages;
  config.prefixCache = options.session.prefixCache && reuse.isAllowed;
  if (reuse.needsSnapshots) {
    config.prefixCache &= store->isOn();
    config.mayEnd = [this](const Prefix &prefix) {
      return store->find(prefix) != nullptr;
    };
    config.onForget = [this](uint32_t page) { store->forget(page); };
    config.onMove = [this](uint32_t from, uint32_t to) {
      store->move(from, to);
    };
  }
  return config;
}

/// Returns the rules of copies. States cannot go on elsewhere if the model also
/// has a state that only running all tokens makes. If drafters read further
/// ahead than one token, their entries in front of the kept rows are not all
/// final.
CopyRules SequenceMemory::copyRules() const {
  uint64_t page = options.envelope.pageTokens;
  const PrefixReusePolicy &reuse = options.reuse;
  CopyRules rules;
  rules.pageTokens = page;
  rules.behindLast = std::max(reuse.lookahead, reuse.rerun);
  rules.every =
      (uint64_t(options.session.snapshotTokens) + page - 1) / page * page;
  rules.leastSaved = options.session.prefillChunk;
  rules.canKeepRounds =
      reuse.isAllowed && options.canSetAccepted && reuse.lookahead <= 1;
  return rules;
}

//===----------------------------------------------------------------------===//
// Admission
//===----------------------------------------------------------------------===//

/// Plans the makers of a prompt's pages. A library computes the pages of whole
/// chunks, counted from the beginning of the prompt; kernels of the plan
/// compute all others.
std::vector<PageProvenance>
SequenceMemory::planPages(uint64_t promptTokens) const {
  uint64_t page = options.envelope.pageTokens, rows = options.libraryRows;
  uint64_t whole = rows ? promptTokens / rows * rows / page : 0;
  std::vector<PageProvenance> makers(promptTokens / page, PageProvenance::Plan);
  std::fill_n(makers.begin(), whole, PageProvenance::Library);
  return makers;
}

std::optional<Residency> SequenceMemory::place(KeptState &kept,
                                               std::vector<int32_t> context,
                                               uint32_t slot, uint64_t capacity,
                                               uint64_t reserved) {
  if (!kept.wasAdmitted)
    kept.makers = planPages(context.size());
  int64_t taken = kv->begin(
      slot, context, capacity,
      {kept.makers, kept.wasAdmitted, kept.inputHash, kept.salt, kept.runsAll});
  if (taken < 0)
    return std::nullopt;
  if (kv->availablePages() < reserved) {
    kv->release(slot);
    return std::nullopt;
  }
  const Snapshots::Copy *copy =
      stateCopies->copyFor(kept, slot, context, uint64_t(taken));
  std::span<const PageProvenance> makers = kv->makers(slot);
  kept.makers.assign(makers.begin(), makers.end());
  Residency residency;
  residency.slot = slot;
  residency.context = std::move(context);
  residency.taken = uint64_t(taken);
  residency.length = residency.reused = copy ? copy->position : uint64_t(taken);
  return residency;
}

Result<SequenceMemory::Prepared>
SequenceMemory::prepare(KeptState &kept, Residency &residency,
                        std::optional<int32_t> anchor) {
  const Snapshots::Copy *copy = stateCopies->copyFor(
      kept, residency.slot, residency.context, residency.taken);
  kept.wasAdmitted = true;
  std::vector<int32_t> known = residency.context;
  if (anchor)
    known.push_back(*anchor);
  MTP_RETURN_IF_ERROR(slotStates->admit(residency.slot, known, kept.inputs));
  Prepared prepared;
  if (!copy)
    return prepared;
  prepared.isFromCopy = true;
  uint32_t pending = copy->pending;
  MTP_RETURN_IF_ERROR(stateCopies->restore(*copy, kept, residency));
  if (residency.isBehindCopy)
    prepared.accepted = int32_t(pending) - 1;
  return prepared;
}

bool SequenceMemory::fillsPagesFor(const KeptState &kept,
                                   std::span<const int32_t> context,
                                   const KeptState &fillingKept,
                                   const Residency &filling) const {
  if (kept.runsAll || fillingKept.inputHash != kept.inputHash)
    return false;
  uint64_t page = options.envelope.pageTokens;
  auto [end, otherEnd] =
      std::mismatch(context.begin(), context.end(), filling.context.begin(),
                    filling.context.end());
  uint64_t same = uint64_t(end - context.begin()) / page * page;
  // Recurrent layers can start at a copy only.
  while (stateCopies->isPresent() && same > filling.reused &&
         !stateCopies->isSnapshot(filling, same))
    same -= page;
  return same >
         std::max(filling.reused, stateCopies->keptTokens(kept, context));
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

PrefillRun SequenceMemory::nextRun(const Residency &residency) const {
  PageKey key{kv->makers(residency.slot)};
  uint64_t pageTokens = options.envelope.pageTokens;
  uint64_t page = residency.length / pageTokens, all = residency.context.size();
  PageProvenance maker = key.of(page);
  do
    ++page;
  while (page * pageTokens < all && key.of(page) == maker &&
         !stateCopies->isSnapshot(residency, page * pageTokens));
  return {maker, std::min(page * pageTokens, all) - residency.length};
}

void SequenceMemory::commitChunk(const KeptState &kept,
                                 const Residency &residency) {
  kv->commit(residency.slot, residency.length);
  stateCopies->storeAfterChunk(kept, residency);
}

Status SequenceMemory::endPrefill(const KeptState &kept,
                                  const Residency &residency) {
  if (!kept.hasNewInputs)
    kv->publish(residency.slot, residency.context);
  return kept.saved.empty() ? okStatus()
                            : slotStates->restore(residency.slot, kept.saved);
}

void SequenceMemory::publishRound(const KeptState &kept,
                                  const Residency &residency) {
  if (isFinal(kept, residency))
    kv->publish(residency.slot,
                std::span(residency.context).first(residency.draftsFrom()));
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

Status SequenceMemory::clearSlot(uint32_t slot) {
  static constexpr std::array<int32_t, 1> kOneToken = {};
  return slotStates->admit(slot, kOneToken, {});
}

/// Saves states before a sequence leaves its slot. A sequence that has not run
/// since its states were saved still has them.
Status SequenceMemory::leave(KeptState &kept, Residency &residency) {
  if (residency.isPrefilled() && slotStates->savedBytes())
    MTP_RETURN_IF_ERROR(slotStates->save(residency.slot, kept.saved));
  stateCopies->storeLeaving(kept, residency);
  kept.hasLeft = true;
  return okStatus();
}

void SequenceMemory::drop(KeptState &kept) {
  kept.saved = {};
  kept.savedMemory.shrinkTo(0);
  stateCopies->drop(kept);
}

Status SequenceMemory::reserveSaved(KeptState &kept) {
  uint64_t bytes = slotStates->savedBytes();
  MTP_ASSIGN_OR_RETURN(kept.savedMemory, withRoom(bytes, [&] {
                         return hostMemory().reserve(
                             bytes, "the saved states of a sequence",
                             options.limit);
                       }));
  return okStatus();
}

Status SequenceMemory::setInput(KeptState &kept, const Residency *residency,
                                uint32_t state, std::vector<uint8_t> bytes) {
  if (residency)
    MTP_RETURN_IF_ERROR(slotStates->setInput(residency->slot, state, bytes));
  kept.inputs.insert_or_assign(state, std::move(bytes));
  kept.hasNewInputs = true;
  return okStatus();
}

Status SequenceMemory::checkInvariant() const {
  MTP_RETURN_IF_ERROR(kv->checkInvariant());
  return store ? store->checkInvariant(*kv) : okStatus();
}
