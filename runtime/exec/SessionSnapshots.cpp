//===- SessionSnapshots.cpp - Copies of what recurrent layers carry -------===//
//
// When they are made, and who goes on from one. Behind prompts, where chunks
// end; behind a sequence that ends, for what is said next; and of a sequence
// that loses its slot, with the entries of all its tokens, so that nothing of
// it is run again whatever becomes of its pages.
//
// Rounds and chunks leave states in front of the rows that they kept. There the
// copies of the last two kinds stand: what is kept is run again, a row at
// least, whose pick is the next token.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SessionImpl.h"

#include <algorithm>

using namespace mtp;

//===----------------------------------------------------------------------===//
// Behind prompts
//===----------------------------------------------------------------------===//

/// The last page of a prompt that the same prompt may be read behind of: what
/// is said in answer to it comes behind.
uint64_t Session::Impl::lastSnapshot(const Sequence &sequence) const {
  uint64_t page = inner.envelope->pageTokens;
  uint64_t behind = std::max(reuse.lookahead, reuse.rerun);
  uint64_t all = sequence.context.size();
  return all < behind ? 0 : (all - behind) / page * page;
}

/// Whether what recurrent layers carry is copied behind so many tokens. A copy
/// at the end of a prompt costs a pass for what is behind it: behind less than
/// a chunk it would save none.
bool Session::Impl::isSnapshot(const Sequence &sequence,
                               uint64_t length) const {
  uint64_t page = inner.envelope->pageTokens;
  uint64_t every = (uint64_t(options.snapshotTokens) + page - 1) / page * page;
  bool isLast = length == lastSnapshot(sequence) &&
                length >= sequence.reused + options.prefillChunk;
  return snapshots && kv->sharesPrefixes() && length > 0 &&
         (length % every == 0 || isLast);
}

/// Of a sequence with a slot, how its pages are made and told apart.
Making Session::Impl::makingOf(const Sequence &sequence) const {
  return {kv->makers(sequence.slot), true, sequence.inputHash, sequence.salt};
}

/// A prompt's chunk keeps the last row, which goes into the states first.
void Session::Impl::storeSnapshot(const Sequence &sequence) {
  uint64_t end = sequence.length;
  if (!isSnapshot(sequence, end) || sequence.hasNewInputs)
    return;
  std::span<const int32_t> table = kv->table(sequence.slot);
  uint32_t page = uint32_t(table[end / inner.envelope->pageTokens - 1]);
  snapshots->store({page, end, sequence.context, makingOf(sequence)},
                   {end, /*pending=*/1}, sequence.slot, table, memory);
}

//===----------------------------------------------------------------------===//
// Behind rounds
//===----------------------------------------------------------------------===//

/// Whether all entries up to where drafters are to be true are final.
bool Session::Impl::isFinal(const Sequence &sequence) const {
  return !sequence.isTorn && !sequence.hasNewInputs &&
         sequence.draftedTo.back() == sequence.draftsFrom();
}

/// Whether what a sequence's slot carries can go on elsewhere: not beside a
/// state that only running all tokens makes. Where drafters read further ahead
/// than one token, their entries in front of the rows that are kept are not all
/// final.
bool Session::Impl::canKeep(const Sequence &sequence) const {
  if (!snapshots || !snapshots->isOn() || !reuse.isAllowed ||
      !host->canSetAccepted() || reuse.lookahead > 1 || !sequence.hasSlot() ||
      sequence.hasNewInputs || sequence.length <= sequence.reused ||
      sequence.draftsFrom() <= 1)
    return false;
  return sequence.phase == Sequence::Phase::Prefilling || isFinal(sequence);
}

/// Copies what a slot carries in front of the prefix's last token, behind the
/// pages of these tokens that the index has.
Snapshots::Id Session::Impl::storeBehindPages(Prefix prefix, uint32_t slot,
                                              std::span<const int32_t> table,
                                              bool isKept) {
  uint64_t page = inner.envelope->pageTokens;
  uint64_t position = prefix.tokens.size() - 1;
  prefix.end = position / page * page;
  prefix.page = kv->find(prefix.tokens, prefix.end, prefix.making);
  if (prefix.end > 0 && prefix.page == 0)
    return 0;
  return snapshots->store(prefix, {position, /*pending=*/0, isKept}, slot,
                          table, memory);
}

/// Copies what the slot carries behind the pages of its tokens that the index
/// has, or, where that `isWhole`, with all of its own.
Snapshots::Id Session::Impl::storeStates(Sequence &sequence, bool isWhole,
                                         bool isKept) {
  uint64_t known = sequence.draftsFrom();
  if (sequence.phase == Sequence::Phase::Running)
    learnTokens(sequence, known);
  Prefix prefix;
  prefix.tokens = std::span(sequence.context).first(known);
  prefix.making = makingOf(sequence);
  std::span<const int32_t> table = kv->table(sequence.slot);
  if (!isWhole)
    return storeBehindPages(prefix, sequence.slot, table, isKept);
  return snapshots->store(prefix, {known - 1, /*pending=*/0, isKept},
                          sequence.slot, table, memory);
}

/// Of a sequence that is about to lose slot and pages. No round is under way.
void Session::Impl::keepStates(Sequence &sequence) {
  if (!canKeep(sequence))
    return;
  // Pages of a prompt that is not over are as final.
  if (sequence.phase == Sequence::Phase::Prefilling)
    kv->publish(sequence.slot,
                std::span(sequence.context).first(sequence.length));
  snapshots->drop(sequence.kept);
  sequence.kept = storeStates(sequence, /*isWhole=*/true, /*isKept=*/true);
  if (sequence.kept == 0 && kv->sharesPrefixes())
    sequence.kept = storeStates(sequence, /*isWhole=*/false, /*isKept=*/true);
}

/// Whether what slots carry is that of the round which is being read. Where
/// nobody but `last` runs in it, it may be waited for to know, and no other one
/// is to follow.
Result<bool> Session::Impl::isAtRest(const Sequence &last) {
  if (!flight)
    return true;
  auto goesOn = [&](const Flight::Row &row) {
    return row.sequence != last.id && isRunning(row.sequence);
  };
  if (!flight->progress.isDone && std::ranges::none_of(flight->rows, goesOn)) {
    executable->stopRounds();
    MTP_ASSIGN_OR_RETURN(flight->progress,
                         executable->awaitRounds(flight->read + 1));
  }
  return flight->progress.isDone && flight->read + 1 >= flight->progress.rounds;
}

/// What there is to know of a sequence that ends while rounds go on.
Flight::Ended Session::Impl::endedOf(Sequence &sequence) {
  uint64_t known = sequence.draftsFrom();
  learnTokens(sequence, known);
  std::span<const int32_t> table = kv->table(sequence.slot);
  std::span<const PageMaker> makers = kv->makers(sequence.slot);
  Flight::Ended ended;
  ended.slot = sequence.slot;
  ended.tokens.assign(sequence.context.begin(),
                      sequence.context.begin() + ptrdiff_t(known));
  ended.table.assign(table.begin(), table.end());
  ended.makers.assign(makers.begin(), makers.end());
  ended.inputs = sequence.inputHash;
  ended.salt = sequence.salt;
  return ended;
}

/// Of a sequence that is about to end, for who goes on with what it has put
/// out. Where other rounds have followed on the device, its copy is made behind
/// them.
Status Session::Impl::keepEnd(Sequence &sequence) {
  if (!canKeep(sequence) || !kv->sharesPrefixes())
    return okStatus();
  MTP_ASSIGN_OR_RETURN(bool isStanding, isAtRest(sequence));
  if (!isStanding) {
    flight->ended.push_back(endedOf(sequence));
    return okStatus();
  }
  storeStates(sequence, /*isWhole=*/false, /*isKept=*/false);
  return okStatus();
}

/// Reads a round that a sequence of the slot, which has ended, was in: the
/// device leaves what it carried alone if it knows of the end, and else has
/// gone on.
Status Session::Impl::noteFurtherRound(uint32_t slot) {
  auto isOf = [slot](const Flight::Ended &ended) { return ended.slot == slot; };
  if (std::ranges::none_of(flight->ended, isOf))
    return okStatus();
  MTP_ASSIGN_OR_RETURN(HostState::RoundOutput output,
                       host->emittedIn(flight->read, slot));
  if (!output.tokens.empty())
    std::erase_if(flight->ended, isOf);
  return okStatus();
}

/// Copies what sequences left that ended in rounds which are over and read.
void Session::Impl::keepEnded() {
  for (const Flight::Ended &ended : flight->ended) {
    Prefix prefix;
    prefix.tokens = ended.tokens;
    prefix.making = {ended.makers, true, ended.inputs, ended.salt};
    storeBehindPages(prefix, ended.slot, ended.table, /*isKept=*/false);
  }
}

//===----------------------------------------------------------------------===//
// Going on
//===----------------------------------------------------------------------===//

/// What a sequence goes on from that has taken the pages of so many tokens;
/// null where it begins with nothing.
const Snapshots::Copy *Session::Impl::copyFor(const Sequence &sequence,
                                              uint32_t slot,
                                              uint64_t taken) const {
  if (!snapshots)
    return nullptr;
  Prefix prefix{0,
                taken,
                sequence.context,
                {kv->makers(slot), sequence.wasAdmitted, sequence.inputHash,
                 sequence.salt}};
  if (taken > 0)
    prefix.page =
        uint32_t(kv->table(slot)[taken / inner.envelope->pageTokens - 1]);
  return kv->sharesPrefixes() ? snapshots->find(prefix)
                              : snapshots->get(sequence.kept, prefix);
}

/// The tokens that a sequence has in its own copy, whoever has its pages.
uint64_t Session::Impl::keptTokens(const Sequence &sequence) const {
  if (!snapshots)
    return 0;
  Prefix prefix{0,
                0,
                sequence.context,
                {sequence.makers, sequence.wasAdmitted, sequence.inputHash,
                 sequence.salt}};
  const Snapshots::Copy *copy = snapshots->get(sequence.kept, prefix);
  return copy ? copy->position : 0;
}

/// Lets the slot, which has just been prepared, go on from a copy.
Status Session::Impl::goOnFrom(const Snapshots::Copy &copy, Sequence &sequence,
                               uint64_t taken) {
  uint64_t page = inner.envelope->pageTokens;
  uint32_t slot = sequence.slot;
  kv->fill(slot, copy.position,
           std::span(copy.makers)
               .subspan(std::min((taken - copy.end) / page,
                                 uint64_t(copy.makers.size()))));
  sequence.makers.assign(kv->makers(slot).begin(), kv->makers(slot).end());
  sequence.isBehindCopy = copy.pending != 1;
  if (sequence.isBehindCopy)
    MTP_RETURN_IF_ERROR(host->setAccepted(slot, int32_t(copy.pending) - 1));
  MTP_RETURN_IF_ERROR(
      snapshots->restore(copy, slot, kv->table(slot), taken / page));
  for (Statistics *of : {&statistics, &sequence.statistics}) {
    ++of->restoredSnapshots;
    of->restoredPreemptions += sequence.hasLeft;
  }
  return okStatus();
}
