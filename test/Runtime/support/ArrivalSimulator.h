//===- ArrivalSimulator.h - A session without a model -----------*- C++ -*-===//
// Runs the scheduler and the planners of a session over requests that come as a
// test says. Pages are counted, passes and rounds take no time, and chance says
// how many tokens a round emits. So a million steps take seconds.
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_ARRIVALSIMULATOR_H
#define MTP_TEST_RUNTIME_SUPPORT_ARRIVALSIMULATOR_H

#include "HandMadePlan.h"
#include "runtime/exec/schedule/PrefillPlanner.h"
#include "runtime/exec/schedule/RoundPlanner.h"
#include "runtime/exec/schedule/Scheduler.h"

#include <functional>
#include <map>
#include <random>

namespace mtp::test {

/// Counts pages by slot.
class CountedPages : public PageBudget {
public:
  CountedPages(uint32_t slots, uint64_t pages, uint32_t k)
      : available(pages), k(k), held(slots, 0) {}

  uint64_t pagesToBegin(const Sequence &sequence) const override {
    return pagesFor(tokensOf(sequence), k);
  }
  bool isWorthWaiting(const Sequence &sequence) const override { return false; }
  std::optional<Residency> take(Sequence &sequence, uint32_t slot,
                                uint64_t reserved) override {
    uint64_t needed = pagesToBegin(sequence);
    if (needed + reserved > available)
      return std::nullopt;
    hold(slot, needed);
    Residency residency;
    residency.slot = slot;
    residency.context.resize(tokensOf(sequence));
    return residency;
  }
  Status prepare(Sequence &sequence) override {
    sequence.kept.wasAdmitted = true;
    return okStatus();
  }
  Status save(Sequence &sequence) override { return okStatus(); }
  void release(Sequence &sequence) override {
    available += held[sequence.residency->slot];
    held[sequence.residency->slot] = 0;
  }
  bool growForRound(Sequence &sequence, uint32_t roundK) override {
    const Residency &residency = *sequence.residency;
    uint64_t needed = pagesFor(residency.length, roundK);
    uint64_t more = needed - std::min(needed, held[residency.slot]);
    if (more > available)
      return false;
    hold(residency.slot, more);
    return true;
  }
  void giveBackAhead() override {}

  /// Tokens that a sequence has put out, which its next prefill computes.
  std::map<SequenceId, uint64_t> emitted;
  uint64_t available;

private:
  static constexpr uint64_t kPageTokens = 16;
  uint64_t pagesFor(uint64_t length, uint32_t roundK) const {
    return (length + roundK + 1 + kPageTokens - 1) / kPageTokens;
  }
  uint64_t tokensOf(const Sequence &sequence) const {
    auto found = emitted.find(sequence.id);
    uint64_t tokens = found == emitted.end() ? 0 : found->second;
    return sequence.request.prompt.size() + (tokens ? tokens - 1 : 0);
  }
  void hold(uint32_t slot, uint64_t pages) {
    held[slot] += pages;
    available -= pages;
  }

  uint32_t k;
  std::vector<uint64_t> held;
};

class ArrivalSimulator {
public:
  struct Options {
    PlanShapes shapes;
    SessionOptions session;
    uint64_t pages = 1 << 20;
    uint32_t seed = 1;
  };
  /// Called when rows of a prompt have been computed, and when a sequence ends.
  std::function<void(const Sequence &, uint32_t rows)> onRows;
  std::function<void(const Sequence &)> onEnd;
  /// Called when sequences have been admitted.
  std::function<void()> onAdmission;

  explicit ArrivalSimulator(const Options &options)
      : options(options), plan(handMadePlan(options.shapes)), programs(plan),
        table(options.shapes.slots),
        pages(options.shapes.slots, options.pages, options.shapes.maxK),
        scheduler(table, pages), prefills(programs, completed(options), 0),
        rounds(programs, {options.shapes.maxK}, {}), random(options.seed) {}

  SequenceId add(uint32_t prompt, uint32_t maxTokens, int32_t priority = 0,
                 uint64_t group = 0);
  /// Admits, computes prompts, and runs a round, as Session::step() does.
  Status step();

  const SequenceTable &sequences() const { return table; }
  uint64_t promptTokens() const { return computed; }
  uint64_t preemptions() const { return scheduler.preemptions(); }
  uint64_t freePages() const { return pages.available; }
  /// Returns a number from `least` to `most`.
  uint32_t pick(uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random);
  }

private:
  static SessionOptions completed(const Options &options) {
    SessionOptions session = options.session;
    session.k = options.shapes.maxK;
    session.maxSlots = options.shapes.slots;
    session.prefillChunk = options.shapes.chunk;
    session.promptMilliseconds = 0;
    return session;
  }
  Status prefill();
  Status decode();
  void commit(Sequence &sequence, uint32_t rows);
  void emit(Sequence &sequence, uint64_t tokens);

  Options options;
  Plan plan;
  ProgramTable programs;
  SequenceTable table;
  CountedPages pages;
  Scheduler scheduler;
  PrefillPlanner prefills;
  RoundPlanner rounds;
  std::mt19937 random;
  uint64_t computed = 0;
  /// Tokens that sequences have got since the step began.
  uint64_t given = 0;
};

inline SequenceId ArrivalSimulator::add(uint32_t prompt, uint32_t maxTokens,
                                        int32_t priority, uint64_t group) {
  Sequence &sequence = table.add();
  sequence.request.prompt.resize(prompt);
  sequence.request.maxTokens = maxTokens;
  sequence.request.priority = priority;
  sequence.request.group = group;
  sequence.drafts.k = pick(0, options.shapes.maxK);
  sequence.arrival = computed;
  scheduler.enter(sequence);
  return sequence.id;
}

inline Status ArrivalSimulator::step() {
  MTP_RETURN_IF_ERROR(prefill());
  MTP_RETURN_IF_ERROR(decode());
  return table.checkInvariant();
}

inline Status ArrivalSimulator::prefill() {
  PrefillLimits limits = prefills.limits(table.isAnyRunning());
  given = 0;
  for (bool isOver = false; !isOver; limits.isFirst = false) {
    bool wasAnyRunning = table.isAnyRunning();
    MTP_RETURN_IF_ERROR(scheduler.admitWaiting());
    if (onAdmission)
      onAdmission();
    std::vector<PendingPrompt> prompts;
    for (SequenceId id : table.prefilling()) {
      const Sequence &sequence = table.at(id);
      prompts.push_back({id, sequence.request.priority, sequence.arrival,
                         sequence.residency->length, sequence.residency->rest(),
                         sequence.residency->context.size()});
    }
    PrefillPlanner::sort(prompts);
    PrefillPass pass = prefills.nextPass(
        prompts, limits, table.freeSlots() > 0, [&](SequenceId id) {
          return PrefillRun{PageProvenance::Plan,
                            table.at(id).residency->rest()};
        });
    for (auto [id, rows] : pass.shares)
      commit(table.at(id), rows);
    limits.budget -= std::min<uint64_t>(limits.budget, pass.chunk);
    isOver = pass.shares.empty() || given > 0 ||
             (!wasAnyRunning && table.isAnyRunning());
  }
  return okStatus();
}

inline void ArrivalSimulator::commit(Sequence &sequence, uint32_t rows) {
  sequence.residency->length += rows;
  computed += rows;
  if (onRows)
    onRows(sequence, rows);
  if (sequence.residency->rest() > 0)
    return;
  sequence.residency->drafters.drafterValidUpTo.assign(
      1, sequence.residency->length);
  table.moveTo(sequence.id, Sequence::Phase::Running);
  if (pages.emitted[sequence.id] == 0)
    emit(sequence, 1);
}

inline void ArrivalSimulator::emit(Sequence &sequence, uint64_t tokens) {
  uint64_t &all = pages.emitted[sequence.id];
  tokens = std::min<uint64_t>(tokens, sequence.request.maxTokens - all);
  all += tokens;
  given += tokens;
  scheduler.charge(sequence, tokens);
  if (all < sequence.request.maxTokens)
    return;
  if (onEnd)
    onEnd(sequence);
  scheduler.end(sequence);
  pages.emitted.erase(sequence.id);
  table.erase(sequence.id);
}

inline Status ArrivalSimulator::decode() {
  std::vector<Sequence *> running = table.running();
  std::vector<RoundCandidate> candidates;
  for (const Sequence *sequence : running)
    candidates.push_back({sequence->id, sequence->drafts.k, nullptr,
                          sequence->residency->length,
                          sequence->residency->accepted});
  RoundPlan round = rounds.plan(candidates);
  MTP_RETURN_IF_ERROR(scheduler.makeRoom(running, round.k));
  for (auto [id, drafts] : round.rows) {
    Sequence *sequence = table.findRunning(id);
    if (!sequence)
      continue;
    uint32_t accepted = pick(0, drafts);
    sequence->residency->accepted = accepted;
    sequence->residency->length += accepted + 1;
    emit(*sequence, accepted + 1);
  }
  return okStatus();
}

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_ARRIVALSIMULATOR_H
