//===- RoundLaunch.h - Rounds on the device ---------------------*- C++ -*-===//
//
// A launch is one round, or a number of rounds that follow each other on the
// device. The host makes room for all of them before, and reads each one when
// it is over. The launch knows programs and slots; the sequences that have the
// slots are names to it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_ROUNDLAUNCH_H
#define MTP_RUNTIME_EXEC_LAUNCH_ROUNDLAUNCH_H

#include "runtime/exec/launch/HostState.h"
#include "runtime/exec/launch/SlotResults.h"
#include "runtime/exec/memory/StateCopies.h"

#include <functional>
#include <optional>

namespace mtp {

/// The rounds of a launch.
struct RoundWork {
  struct Row {
    SequenceId sequence = 0;
    uint32_t slot = 0;
    /// Drafts that the sequence may have.
    uint32_t drafts = 0;
    LoopLimits limits;
    /// Whether the host sees the drafts before they are verified.
    bool seesDrafts = false;
    /// Whether the host masks the tokens of the sequence's rows.
    bool isMasked = false;
    /// Whether the sequence's request asks for outputs.
    bool isAsked = false;
    /// Whether the sequence's request has rules for logits.
    bool hasRules = false;
  };
  std::vector<Row> rows;
  /// A slot without a sequence that fills the batch, and the positions that it
  /// has pages for.
  struct Padding {
    uint32_t slot = 0;
    uint64_t positions = 0;
  };
  std::vector<Padding> padding;
  uint32_t program = 0;
  uint32_t k = 0;
  /// Limit on the number of rounds.
  uint32_t rounds = 1;
  /// Cached positions of all sequences together, before the first round.
  uint64_t positions = 0;
  /// A prompt with rows in the only round.
  struct MixedPrompt {
    SequenceId sequence = 0;
    uint32_t rows = 0;
    bool hasRules = false;
  };
  std::vector<MixedPrompt> mixed;
  /// The parts of these prompts; the program has this number of prompts.
  std::vector<PromptPart> parts;

  /// The n that the program runs for.
  uint32_t batch() const { return uint32_t(rows.size() + padding.size()); }
  uint32_t mixedRows() const {
    uint32_t all = 0;
    for (const MixedPrompt &prompt : mixed)
      all += prompt.rows;
    return all;
  }
};

/// Owns the only launch of rounds that is under way. Until it has ended no
/// other program runs and no sequence gets a slot.
class RoundLaunch {
public:
  /// All must outlive the object. `vocab`: floats in a row of logits.
  RoundLaunch(const ProgramTable &programs, HostState &host,
              Executable &executable, uint32_t vocab)
      : programs(programs), host(host), executable(executable), vocab(vocab) {}

  bool isUnderWay() const { return launch.has_value(); }
  /// Whether the launch stands between the halves of its only round.
  bool isStopped() const { return launch && launch->isStopped; }
  /// Whether all rounds are over. They may have results that are not read.
  bool isDone() const { return launch->progress.isDone; }
  const RoundWork &work() const { return launch->work; }

  /// Starts rounds. A single round has ended when this returns, unless a
  /// sequence sees drafts, or has drafts and masks: then the round has stopped
  /// after its first half. Page tables are on the device.
  Status start(RoundWork work);
  /// Returns the drafts of a row of a round that has stopped; none in a round
  /// without drafts.
  Result<SeenDrafts> seenDrafts(uint32_t row);
  /// Runs the second half of a round that has stopped.
  Status finishStopped();

  /// Waits until a round is over that has not been read, or all are.
  Status await();
  /// Whether a round that is over has not been read.
  bool hasUnread() const { return launch->read < launch->progress.rounds; }
  /// Returns the output of the next unread round for a row.
  Result<HostState::RoundOutput> output(uint32_t row);
  /// Returns where that round left its results for a row. The rows of its
  /// tokens are looked up if `needsRows`.
  Result<SlotResults> results(uint32_t row, bool needsRows);
  /// Marks the round as read.
  void next() { ++launch->read; }
  uint32_t roundsRead() const { return launch->read; }

  /// By row, the rows that its sequence had in all rounds. All are over.
  Result<std::vector<uint64_t>> activeRows();
  /// Returns the number of rows for which a row of the launch had room.
  uint64_t rowCapacity() const;
  /// Returns the results of a prompt whose rows were in the only round.
  SlotResults mixedResults(size_t prompt) const;
  /// Forgets the launch.
  void end() { launch.reset(); }

  /// Lets no other round follow the one that runs, unless it has stopped.
  void endSoon();
  /// Waits until nothing runs. A later step reads the results of rounds that
  /// are over.
  Status land();

  /// Returns whether the slots still have the states that the round being read
  /// left there. If no sequence but `last` goes on in the launch, waits for
  /// that round.
  Result<bool> isAtRest(SequenceId last,
                        const std::function<bool(SequenceId)> &isRunning);
  /// Notes a sequence that has ended while later rounds may run. Its slot stays
  /// reserved until the launch ends.
  void noteEnded(EndedSequence ended) {
    launch->ended.push_back(std::move(ended));
  }
  /// Looks at the unread round of a row whose sequence has ended: the device
  /// leaves the slot alone if it knows of the end, else the slot has gone on.
  Status noteFurtherRound(uint32_t row);
  /// The ended sequences whose slots still have their last states.
  const std::vector<EndedSequence> &ended() const { return launch->ended; }

private:
  struct Launch {
    RoundWork work;
    /// The rows of logits of the only round.
    Binding logits;
    bool isStopped = false;
    Progress progress;
    /// Rounds that were read.
    uint32_t read = 0;
    std::vector<EndedSequence> ended;
  };
  Status writeRows(const RoundWork &work);
  Status runOnRequestOf(const RoundWork &work);
  bool stopsFor(const RoundWork &work) const;
  Result<std::vector<int32_t>> readSlot(Binding all, uint32_t row);

  const ProgramTable &programs;
  HostState &host;
  Executable &executable;
  uint32_t vocab;
  std::optional<Launch> launch;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_ROUNDLAUNCH_H
