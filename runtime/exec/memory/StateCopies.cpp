//===- StateCopies.cpp - Copies of recurrent states per sequence ----------===//

#include "runtime/exec/memory/StateCopies.h"

#include <algorithm>

using namespace mtp;

//===----------------------------------------------------------------------===//
// After prompts
//===----------------------------------------------------------------------===//

/// Returns the end of the last page of a prompt after which the same prompt may
/// be read: an answer and the next turn follow there.
uint64_t StateCopies::lastSnapshot(const Residency &residency) const {
  uint64_t all = residency.context.size();
  return all < rules.behindLast
             ? 0
             : (all - rules.behindLast) / rules.pageTokens * rules.pageTokens;
}

/// Returns whether states are copied here. A copy at the end of a prompt costs
/// a pass for the tokens after it. Fewer tokens than a chunk would save no
/// pass.
bool StateCopies::isSnapshot(const Residency &residency,
                             uint64_t length) const {
  bool isLast = length == lastSnapshot(residency) &&
                length >= residency.reused + rules.leastSaved;
  return snapshots && kv.sharesPrefixes() && length > 0 &&
         (length % rules.every == 0 || isLast);
}

/// Returns how the pages of a sequence with a slot are made and told apart.
PageKey StateCopies::pageKeyOf(const KeptState &kept,
                               const Residency &residency) const {
  return {kv.makers(residency.slot), true, kept.inputHash, kept.salt};
}

/// Stores a copy with one pending row: a prompt's chunk keeps its last row,
/// which goes into the states first.
void StateCopies::storeAfterChunk(const KeptState &kept,
                                  const Residency &residency) {
  uint64_t end = residency.length;
  if (!isSnapshot(residency, end) || kept.hasNewInputs)
    return;
  std::span<const int32_t> table = kv.table(residency.slot);
  uint32_t page = uint32_t(table[end / rules.pageTokens - 1]);
  snapshots->store({page, end, residency.context, pageKeyOf(kept, residency)},
                   {end, /*pending=*/1}, residency.slot, table, memory);
}

//===----------------------------------------------------------------------===//
// After rounds
//===----------------------------------------------------------------------===//

/// Whether the states of the sequence's slot can go on elsewhere.
bool StateCopies::canKeep(const KeptState &kept,
                          const Residency &residency) const {
  if (!snapshots || !snapshots->isOn() || !rules.canKeepRounds ||
      kept.hasNewInputs || residency.length <= residency.reused ||
      residency.draftsFrom() <= 1)
    return false;
  return !residency.isPrefilled() || isFinal(kept, residency);
}

/// Copies the slot's states, which are those before the prefix's last token.
/// The copy is attached to the last page of the prefix that the index has.
Snapshots::Id StateCopies::storeBehindPages(Prefix prefix, uint32_t slot,
                                            std::span<const int32_t> table,
                                            bool isKept) {
  uint64_t position = prefix.tokens.size() - 1;
  prefix.end = position / rules.pageTokens * rules.pageTokens;
  prefix.page = kv.find(prefix.tokens, prefix.end, prefix.key);
  if (prefix.end > 0 && prefix.page == 0)
    return 0;
  return snapshots->store(prefix, {position, /*pending=*/0, isKept}, slot,
                          table, memory);
}

/// Copies the slot's states. The copy is attached to a page of the index; if
/// `isWhole`, it has the entries of all tokens instead.
Snapshots::Id StateCopies::storeStates(const KeptState &kept,
                                       const Residency &residency, bool isWhole,
                                       bool isKept) {
  uint64_t known = residency.draftsFrom();
  Prefix prefix;
  prefix.tokens = std::span(residency.context).first(known);
  prefix.key = pageKeyOf(kept, residency);
  std::span<const int32_t> table = kv.table(residency.slot);
  if (!isWhole)
    return storeBehindPages(prefix, residency.slot, table, isKept);
  return snapshots->store(prefix, {known - 1, /*pending=*/0, isKept},
                          residency.slot, table, memory);
}

void StateCopies::storeLeaving(KeptState &kept, Residency &residency) {
  if (!canKeep(kept, residency))
    return;
  // Pages of a prompt whose prefill goes on are final, too.
  if (!residency.isPrefilled())
    kv.publish(residency.slot,
               std::span(residency.context).first(residency.length));
  snapshots->drop(kept.copy);
  kept.copy = storeStates(kept, residency, /*isWhole=*/true, /*isKept=*/true);
  if (kept.copy == 0 && kv.sharesPrefixes())
    kept.copy =
        storeStates(kept, residency, /*isWhole=*/false, /*isKept=*/true);
}

bool StateCopies::canStoreEnd(const KeptState &kept,
                              const Residency &residency) const {
  return canKeep(kept, residency) && kv.sharesPrefixes();
}

void StateCopies::storeEnd(const KeptState &kept, Residency &residency) {
  storeStates(kept, residency, /*isWhole=*/false, /*isKept=*/false);
}

EndedSequence StateCopies::endedOf(const KeptState &kept,
                                   const Residency &residency) const {
  std::span<const int32_t> table = kv.table(residency.slot);
  std::span<const PageProvenance> makers = kv.makers(residency.slot);
  EndedSequence ended;
  ended.slot = residency.slot;
  ended.tokens.assign(residency.context.begin(),
                      residency.context.begin() +
                          ptrdiff_t(residency.draftsFrom()));
  ended.table.assign(table.begin(), table.end());
  ended.makers.assign(makers.begin(), makers.end());
  ended.inputs = kept.inputHash;
  ended.salt = kept.salt;
  return ended;
}

void StateCopies::storeEnded(const EndedSequence &ended) {
  Prefix prefix;
  prefix.tokens = ended.tokens;
  prefix.key = {ended.makers, true, ended.inputs, ended.salt};
  storeBehindPages(prefix, ended.slot, ended.table, /*isKept=*/false);
}

//===----------------------------------------------------------------------===//
// Going on
//===----------------------------------------------------------------------===//

const Snapshots::Copy *StateCopies::copyFor(const KeptState &kept,
                                            uint32_t slot,
                                            std::span<const int32_t> context,
                                            uint64_t taken) const {
  if (!snapshots || kept.runsAll)
    return nullptr;
  Prefix prefix{0,
                taken,
                context,
                {kv.makers(slot), kept.wasAdmitted, kept.inputHash, kept.salt}};
  if (taken > 0)
    prefix.page = uint32_t(kv.table(slot)[taken / rules.pageTokens - 1]);
  return kv.sharesPrefixes() ? snapshots->find(prefix)
                             : snapshots->get(kept.copy, prefix);
}

uint64_t StateCopies::keptTokens(const KeptState &kept,
                                 std::span<const int32_t> context) const {
  if (!snapshots)
    return 0;
  Prefix prefix{0,
                0,
                context,
                {kept.makers, kept.wasAdmitted, kept.inputHash, kept.salt}};
  const Snapshots::Copy *copy = snapshots->get(kept.copy, prefix);
  return copy ? copy->position : 0;
}

Status StateCopies::restore(const Snapshots::Copy &copy, KeptState &kept,
                            Residency &residency) {
  uint32_t slot = residency.slot;
  uint64_t page = rules.pageTokens, taken = residency.taken;
  kv.fill(slot, copy.position,
          std::span(copy.makers)
              .subspan(std::min((taken - copy.end) / page,
                                uint64_t(copy.makers.size()))));
  kept.makers.assign(kv.makers(slot).begin(), kv.makers(slot).end());
  residency.isBehindCopy = copy.pending != 1;
  return snapshots->restore(copy, slot, kv.table(slot), taken / page);
}
