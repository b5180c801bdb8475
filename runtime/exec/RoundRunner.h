//===- RoundRunner.h - Launches of rounds -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_ROUNDRUNNER_H
#define MTP_RUNTIME_EXEC_ROUNDRUNNER_H

#include "runtime/exec/PromptRunner.h"
#include "runtime/exec/launch/DrafterCatchUp.h"
#include "runtime/exec/schedule/RoundPlanner.h"
#include "runtime/profile/CaptureChoice.h"

namespace mtp {

/// Plans rounds, runs them, and applies their results.
class RoundRunner {
public:
  /// Parts and prompts must outlive the runner. `captures`: the numbers of
  /// slots with programs of their own.
  RoundRunner(SessionParts &parts, PromptRunner &prompts,
              profile::CaptureSizes captures);

  /// Starts rounds if none are under way, and reads finished rounds.
  Status run();

  const DraftPolicy::LearnedCosts &learned() const { return planner.learned(); }

private:
  /// A sequence of the round that is being made.
  struct Member {
    Sequence *sequence;
    uint32_t drafts;
  };

  // Plan.
  RoundPlan plan(std::vector<Member> &members);
  Status prepareDrafters(std::span<const Member> members, RoundPlan &plan);
  uint32_t roundsFor(std::span<const Member> members,
                     const RoundPlan &plan) const;
  void lookAhead(const Sequence &sequence, uint32_t k, uint32_t rounds);
  Status pad(RoundWork &work);
  Result<RoundWork> makeWork(std::span<const Member> members,
                             const RoundPlan &plan);

  // Run.
  Status start();
  Status maskAnchors();
  Status maskDrafts(const RoundWork::Row &row, SeenDrafts &seen);
  Status answerStop();
  Status finishStopped();

  // Apply.
  Status read();
  Status readRow(uint32_t row);
  Status apply(Sequence &sequence, const HostState::RoundOutput &output,
               uint32_t row);
  Status record(const Sequence &sequence, const HostState::RoundOutput &output,
                uint64_t anchor, uint32_t row);
  bool endsDrafts(const Sequence &sequence) const;
  Status countRows();
  void countRound();
  void countSeconds(double seconds);
  void recordLaunch(double seconds);

  SessionParts &parts;
  PromptRunner &prompts;
  RoundPlanner planner;
  DrafterCatchUp catchUp;
  /// Times at which the launch under way started, and at which its last round
  /// was read.
  double started = 0, lastRead = 0;
  /// Time at which the launch's round stopped for the host, and the seconds of
  /// the round's first half.
  double stopped = 0, halfSeconds = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_ROUNDRUNNER_H
