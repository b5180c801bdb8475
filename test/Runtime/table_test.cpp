//===- table_test.cpp - Phases, lists and who gets a slot -----------------===//

#include "support/ArrivalSimulator.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

using Phase = Sequence::Phase;

namespace {

Residency inSlot(uint32_t slot) {
  Residency residency;
  residency.slot = slot;
  residency.context.resize(4);
  return residency;
}

/// Ends the prefill of a sequence.
void run(SequenceTable &table, SequenceId id) {
  table.at(id).residency->drafters.drafterValidUpTo.assign(1, 4);
  table.moveTo(id, Phase::Running);
}

} // namespace

TEST(SequenceTable, ListsFollowFromPhases) {
  SequenceTable table(2);
  SequenceId a = table.add().id, b = table.add().id, c = table.add().id;
  EXPECT_EQ(table.waiting(), (std::set<SequenceId>{a, b, c}));
  EXPECT_EQ(table.freeSlots(), 2u);
  table.admit(b, inSlot(table.firstFreeSlot()));
  table.admit(a, inSlot(table.firstFreeSlot()));
  EXPECT_EQ(table.prefilling(), (std::vector<SequenceId>{b, a}));
  EXPECT_EQ(table.freeSlots(), 0u);
  EXPECT_FALSE(table.isAnyRunning());
  EXPECT_TRUE(table.checkInvariant().isOk());
  run(table, b);
  EXPECT_EQ(table.running(), (std::vector<Sequence *>{&table.at(b)}));
  EXPECT_EQ(table.findRunning(a), nullptr);
  table.moveTo(b, Phase::Paused);
  table.moveTo(a, Phase::Waiting);
  EXPECT_EQ(table.freeSlots(), 2u);
  EXPECT_FALSE(table.at(a).hasSlot());
  EXPECT_EQ(table.waiting(), (std::set<SequenceId>{a, c}));
  table.moveTo(c, Phase::Done);
  SequenceCounts counts = table.counts();
  EXPECT_EQ(counts.waiting, 1u);
  EXPECT_EQ(counts.paused, 1u);
  EXPECT_EQ(counts.finished, 1u);
  EXPECT_EQ(counts.prefilling + counts.running, 0u);
  table.erase(c);
  EXPECT_EQ(table.find(c), nullptr);
  EXPECT_TRUE(table.checkInvariant().isOk());
}

TEST(SequenceTable, IllegalTransitionsAreFound) {
  auto errorOf = [](auto move) {
    SequenceTable table(1);
    move(table, table.add().id);
    return std::string(table.checkInvariant().message());
  };
  EXPECT_EQ(errorOf([](SequenceTable &table, SequenceId id) {
              table.moveTo(id, Phase::Done);
              table.moveTo(id, Phase::Waiting);
            }),
            "sequence 1 went from Done to Waiting");
  EXPECT_EQ(errorOf([](SequenceTable &table, SequenceId id) {
              table.moveTo(id, Phase::Running);
            }),
            "sequence 1 went from Waiting to Running");
  // A sequence that runs has been prefilled.
  EXPECT_EQ(errorOf([](SequenceTable &table, SequenceId id) {
              table.admit(id, inSlot(0));
              table.moveTo(id, Phase::Running);
            }),
            "sequence 1 is Running, but its prefill says otherwise");
  EXPECT_EQ(errorOf([](SequenceTable &table, SequenceId id) {
              table.at(id).residency = inSlot(0);
            }),
            "sequence 1 is Waiting with a residency");
}

//===----------------------------------------------------------------------===//
// Scheduler
//===----------------------------------------------------------------------===//

namespace {

/// A scheduler over counted pages; a page has 16 tokens.
struct Scheduled {
  SequenceTable table;
  CountedPages pages;
  Scheduler scheduler{table, pages};

  Scheduled(uint32_t slots, uint64_t pages)
      : table(slots), pages(slots, pages, /*k=*/0) {}

  SequenceId add(uint32_t prompt, int32_t priority = 0, uint64_t group = 0) {
    Sequence &sequence = table.add();
    sequence.request.prompt.resize(prompt);
    sequence.request.priority = priority;
    sequence.request.group = group;
    scheduler.enter(sequence);
    return sequence.id;
  }
  std::set<SequenceId> admit() {
    EXPECT_TRUE(scheduler.admitWaiting().isOk());
    EXPECT_TRUE(table.checkInvariant().isOk());
    return table.admitted();
  }
};

} // namespace

TEST(Scheduler, NoSequenceOvertakesOneThatCannotHavePages) {
  Scheduled on(3, /*pages=*/10);
  SequenceId a = on.add(100), b = on.add(60), c = on.add(1);
  // 7 of 10 pages are the first one's; the second needs 4.
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{a}));
  on.scheduler.end(on.table.at(a));
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{b, c}));
}

TEST(Scheduler, APageIsLeftForEverySequenceWithASlot) {
  Scheduled on(2, /*pages=*/8);
  SequenceId a = on.add(63), b = on.add(63);
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{a}));
  on.pages.available += 1;
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{a, b}));
}

TEST(Scheduler, LessUrgentSequencesMakeWay) {
  Scheduled on(2, /*pages=*/100);
  SequenceId a = on.add(1, 5), b = on.add(1, 5);
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{a, b}));
  SequenceId urgent = on.add(1, 0), equal = on.add(1, 5);
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{a, urgent}));
  EXPECT_EQ(on.table.waiting(), (std::set<SequenceId>{b, equal}));
  EXPECT_EQ(on.scheduler.preemptions(), 1u);
}

TEST(Scheduler, TheGroupWithTheFewestTokensComesFirst) {
  Scheduled on(1, /*pages=*/100);
  SequenceId a = on.add(50, 0, 1), b = on.add(1, 0, 1), c = on.add(1, 0, 2);
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{a}));
  on.scheduler.end(on.table.at(a));
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{c}));
  on.scheduler.end(on.table.at(c));
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{b}));
}

TEST(Scheduler, RoundsTakePagesFromTheYoungest) {
  Scheduled on(3, /*pages=*/9);
  std::vector<Sequence *> round;
  for (int i = 0; i < 3; ++i)
    round.push_back(&on.table.at(on.add(16)));
  on.admit();
  for (Sequence *sequence : round) {
    sequence->residency->length = 16;
    run(on.table, sequence->id);
  }
  // Two pages each, of nine.
  round[0]->residency->length = round[1]->residency->length = 63;
  EXPECT_TRUE(on.scheduler.makeRoom(round, /*k=*/0).isOk());
  EXPECT_TRUE(round[0]->isRunning() && round[1]->isRunning());
  EXPECT_EQ(round[2]->phase(), Phase::Waiting);
  EXPECT_EQ(on.pages.available, 1u);
  EXPECT_TRUE(on.table.checkInvariant().isOk());
}

TEST(Scheduler, PausesWaitForRoundsAndKeepTheOldPlace) {
  Scheduled on(1, /*pages=*/100);
  SequenceId a = on.add(1), b = on.add(1);
  on.admit();
  EXPECT_TRUE(on.scheduler.pause(on.table.at(a), true).isOk());
  EXPECT_EQ(on.table.at(a).phase(), Phase::Prefilling);
  EXPECT_TRUE(on.scheduler.applyPauses().isOk());
  EXPECT_EQ(on.table.at(a).phase(), Phase::Paused);
  EXPECT_EQ(on.admit(), (std::set<SequenceId>{b}));
  EXPECT_TRUE(on.scheduler.resume(on.table.at(a)));
  EXPECT_FALSE(on.scheduler.resume(on.table.at(a)));
  EXPECT_EQ(*on.table.waiting().begin(), a);
  // A sequence that waits needs no rounds to end.
  EXPECT_TRUE(on.scheduler.pause(on.table.at(a), true).isOk());
  EXPECT_EQ(on.table.at(a).phase(), Phase::Paused);
}
