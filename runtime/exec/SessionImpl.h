//===- SessionImpl.h - The inside of Session --------------------*- C++ -*-===//
//
// The state of a session and the functions that work on it. A step prefills and
// then decodes (Step.cpp):
//
//   Admission.cpp   a sequence gets a slot and pages, or gives them up
//   Pause.cpp       a sequence is set aside, and goes on
//   Prefill.cpp     passes over prompts of sequences that are Prefilling
//   SessionSnapshots.cpp   copies of what recurrent layers carry
//   Drafts.cpp      how many drafts the sequences have that are Running
//   CatchUp.cpp     drafters that rounds without them left behind
//   Decode.cpp      a round of these
//   Mixed.cpp       rows of a prompt beside a round's
//   Step.cpp        what a program emitted goes to its sequence
//   Functions.cpp   exported functions, beside all that
//
// Rounds may follow each other without the host (Flight). A step then reads
// what is new, and nothing else begins before the last one is over.
//
// Which lists name a sequence follows from its phase:
//
//   Waiting       waiting
//   Prefilling    admitted, prefilling; has a slot and pages
//   Running       admitted; has a slot and pages
//   Paused        paused
//   Done          none
//
// Calls come one at a time (CallGate); all below is for who holds the gate.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SESSIONIMPL_H
#define MTP_RUNTIME_EXEC_SESSIONIMPL_H

#include "mtp/session.h"
#include "runtime/core/MemoryAccount.h"
#include "runtime/device/Device.h"
#include "runtime/exec/CallGate.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/launch/HostState.h"
#include "runtime/exec/memory/KeptLogits.h"
#include "runtime/exec/memory/KvCacheManager.h"
#include "runtime/exec/memory/SlotStates.h"
#include "runtime/exec/memory/Snapshots.h"
#include "runtime/exec/program/LibraryChoice.h"
#include "runtime/exec/program/ReuseRule.h"
#include "runtime/exec/schedule/DraftPolicy.h"
#include "runtime/exec/schedule/FairShare.h"
#include "runtime/exec/schedule/PassCost.h"
#include "runtime/schema/KvPage.h"

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace mtp {

/// A request and what has been made of it.
///
///   Waiting -> Prefilling -> Running -> Done
///      ^------------+-----------+   (preempted: pages given up)
///
/// From each but Done to Paused, and from there to Waiting.
struct Sequence {
  enum class Phase : uint8_t { Waiting, Prefilling, Running, Paused, Done };

  SequenceId id = 0;
  /// Without its inputs.
  Request request;
  InputBytes inputs;
  /// Of those that the request brought, and its salt.
  Hash128 inputHash;
  /// What tells its pages from those of others, beside that.
  std::vector<int32_t> salt;
  /// Whether the host has written one anew: what rounds compute need not be
  /// what the hash stands for.
  bool hasNewInputs = false;
  /// What updates are to have.
  std::vector<RequestOutputType> outputs;
  Phase phase = Phase::Waiting;
  std::vector<int32_t> output;
  FinishReason finish = FinishReason::None;
  Statistics statistics;
  KeptLogits logits;
  /// Who computed the prompt's pages, as it was settled when the sequence was
  /// first admitted: after a preemption they are computed in the same way.
  std::vector<PageMaker> makers;
  bool wasAdmitted = false;
  /// Is to be paused when the rounds are over that are under way.
  bool isPausing = false;
  /// Drafts of a round at most, and whether there may be fewer where these are
  /// not worth it.
  uint32_t k = 0;
  bool choosesK = false;
  /// What its drafts have come to.
  DraftHistory drafts;
  /// What the host keeps of the slot's states while the sequence has none, from
  /// its first preemption on, and the memory for it.
  std::vector<uint8_t> saved;
  MemoryReservation savedMemory;
  /// Whether it has lost a slot, and the copy of what recurrent layers carried
  /// there; 0 where none was made.
  bool hasLeft = false;
  Snapshots::Id kept = 0;
  /// Prompt tokens that the session had computed when it came: its age, by
  /// which it gets its turn among shorter prompts.
  uint64_t arrival = 0;

  // What follows is valid while the sequence is Prefilling or Running.

  uint32_t slot = 0;
  /// The tokens that prefill computes: the prompt, and after a preemption the
  /// output without its last token, which prefill then picks again.
  std::vector<int32_t> context;
  /// Positions whose KV entries are final: the tokens prefilled so far, and
  /// after prefill the position of the anchor.
  uint64_t length = 0;
  /// Positions of `context` whose entries came from the prefix index.
  uint64_t reused = 0;
  /// Positions that the device's copy of the slot's page table has pages for; 0
  /// where it is another slot's or older.
  uint64_t tableCapacity = 0;
  /// Drafts that the last round accepted.
  uint32_t accepted = 0;
  /// Whether nothing has run since it went on from a copy whose kept rows are
  /// not those of a prompt's chunk.
  bool isBehindCopy = false;
  /// By k, how far the drafters are true that a round of it runs, and last all
  /// that a prefill runs: as a prefill of so many tokens leaves them. A round
  /// with fewer drafts than fill all caches, or than the one before had
  /// accepted, does not bring them on.
  std::vector<uint64_t> draftedTo;
  /// Whether entries of drafters are missing for good.
  bool isTorn = false;
  /// Of drafters whose entries are not at the places of their positions: how
  /// many of these were left out, and the first place behind the last gap.
  struct DrafterPlaces {
    uint64_t skipped = 0, first = 0;
  };
  /// By k - 1, of those that rounds of less do not run.
  std::vector<DrafterPlaces> places;
  /// What the device knows of them.
  std::vector<int32_t> placeWords;
  /// Whether the device knows all tokens that end the sequence.
  bool endsOnDevice = false;

  /// Where logits are kept or outputs asked for: the rows of the slot's window
  /// that the last round's tokens are from, and where these are among the rows
  /// of logits; else they are from the first ones.
  std::vector<uint32_t> windowRows, logitsRows;

  /// Whether end and stop tokens end it already.
  bool mayStop() const { return output.size() >= request.minTokens; }
  bool hasSlot() const {
    return phase == Phase::Prefilling || phase == Phase::Running;
  }
  /// Tokens of `context` that prefill has yet to compute.
  uint64_t rest() const { return context.size() - length; }
  /// Where drafters are to be true between two rounds: the next one refreshes
  /// them over what the last one verified.
  uint64_t draftsFrom() const { return length - accepted; }
};

/// Where a program left what it computed of a sequence.
struct SlotResults {
  /// The sequence's rows.
  Binding logits;
  /// What ran, for n slots or rows, and the sequence's place among `count`.
  uint32_t program = 0;
  uint32_t n = 0;
  uint32_t index = 0;
  uint32_t count = 1;
  /// Whether it is a prompt's beside a round.
  bool isBeside = false;
};

/// Tokens behind each other that are computed alike.
struct PrefillRun {
  PageMaker maker;
  uint64_t tokens;
};

/// The next tokens of a prompt that one pass computes.
struct PrefillShare {
  Sequence *sequence;
  uint32_t rows;
};

/// What prompts may have of a step.
struct PrefillLimits {
  /// Rows that all passes together may still have.
  uint64_t budget = 0;
  /// Rows of a pass.
  uint32_t largest = 0;
  /// A library's chunk is whole, whatever the limits: the step's first pass may
  /// be one.
  bool isFirst = true;
};

/// A pass over prompts.
struct PrefillPass {
  std::vector<PrefillShare> shares;
  /// The rows of its program; more than those of the shares where a single
  /// prompt is short of the smallest chunk that covers it.
  uint32_t chunk = 0;
  /// Its program's; those behind the shares have no rows.
  uint32_t sequences = 1;
  /// Whether a library computes the products of a chunk of one prompt, whose
  /// rows stand at their positions modulo the chunk.
  bool byLibrary = false;
};

/// The next round, or launch of rounds.
struct RoundPlan {
  struct Row {
    Sequence *sequence;
    /// Drafts that it may have.
    uint32_t drafts;
  };
  std::vector<Row> rows;
  /// Of the program.
  uint32_t k = 0;
  /// Rounds that have its k at most.
  uint32_t rounds = UINT32_MAX;
};

/// Rounds that follow each other on the device.
struct Flight {
  /// Of a sequence that has ended what is known of its slot, which nobody else
  /// gets before the rounds are over.
  struct Ended {
    uint32_t slot;
    std::vector<int32_t> tokens, table;
    std::vector<PageMaker> makers;
    Hash128 inputs;
    std::vector<int32_t> salt;
  };
  struct Row {
    SequenceId sequence;
    uint32_t slot;
    /// Drafts that it may have.
    uint32_t drafts;
  };
  std::vector<Row> rows;
  uint32_t program = 0;
  uint32_t k = 0;
  /// What the caches have of all of them, before the first round.
  uint64_t positions = 0;
  /// When they started, by the session's clock.
  double start = 0;
  /// The rows of logits of the only round; of several nobody reads them.
  Binding logits;
  /// Whether it stands between the halves of its only round, and since when.
  bool isStopped = false;
  double stopped = 0;
  /// Prompts whose rows ran beside the only round's.
  struct Beside {
    SequenceId sequence;
    uint32_t rows;
  };
  std::vector<Beside> beside;
  uint32_t rowsBeside() const {
    uint32_t rows = 0;
    for (const Beside &prompt : beside)
      rows += prompt.rows;
    return rows;
  }
  /// What is over, and what of it the sequences have got.
  Progress progress;
  uint32_t read = 0;
  /// Those whose slots carry what they left there, as far as has been read.
  std::vector<Ended> ended;
};

/// See session.h for what the public functions do.
class Session::Impl {
public:
  Impl(std::shared_ptr<const Model> model, const Model::Impl &inner,
       const SessionOptions &options);

  Status start();

  // Admission.cpp
  Result<SequenceId> add(Request request);
  Status cancel(SequenceId id);
  Status release(SequenceId id);
  Status setInput(SequenceId id, RequestInput input);
  int64_t takePages(Sequence &sequence, uint32_t slot, uint64_t keptPages);
  Sequence *nextWaiting(const std::set<SequenceId> &passed);
  Result<bool> makeWayFor(const Sequence &sequence);
  const Sequence *lastAdmitted() const;
  Status admitWaiting();
  Status preemptYoungest();
  Status writeStops(Sequence &sequence);

  // Pause.cpp
  Status pause(SequenceId id);
  Status resume(SequenceId id);
  Status leaveSlot(Sequence &sequence);
  Status setAside(Sequence &sequence);
  Status applyPauses();
  void endFlightSoon();
  Result<SequenceState> state(SequenceId id) const;
  SequenceCounts counts() const;

  // Prefill.cpp
  Status prefillPhase();
  bool isAnyRunning() const;
  PrefillLimits prefillLimits() const;
  uint32_t rowsBeside() const;
  std::vector<Sequence *> prefillOrder();
  std::vector<PrefillShare> shareRows(const std::vector<Sequence *> &order,
                                      uint64_t first, uint64_t room,
                                      uint32_t mostSequences) const;
  PrefillPass nextPass(const PrefillLimits &limits);
  PrefillPass libraryPass(Sequence &sequence, uint64_t tokens,
                          const PrefillLimits &limits) const;
  uint32_t rowsBesideEnd(const Sequence &sequence) const;
  PrefillRun nextRun(const Sequence &sequence) const;
  std::vector<PageMaker> planPages(uint64_t promptTokens) const;
  bool canFill(size_t prompts, uint32_t sequences) const;
  Status fillParts(std::vector<PromptPart> &parts, uint32_t sequences);
  Status runPrefill(const PrefillPass &pass);
  Status commitPrefill(PrefillShare share, const SlotResults &results);
  Status finishPrefill(Sequence &sequence, const SlotResults &results);

  // SessionSnapshots.cpp
  uint64_t lastSnapshot(const Sequence &sequence) const;
  bool isSnapshot(const Sequence &sequence, uint64_t length) const;
  Making makingOf(const Sequence &sequence) const;
  void storeSnapshot(const Sequence &sequence);
  bool isFinal(const Sequence &sequence) const;
  bool canKeep(const Sequence &sequence) const;
  Snapshots::Id storeStates(Sequence &sequence, bool isWhole, bool isKept);
  void keepStates(Sequence &sequence);
  Result<bool> isAtRest(const Sequence &last);
  Status keepEnd(Sequence &sequence);
  Snapshots::Id storeBehindPages(Prefix prefix, uint32_t slot,
                                 std::span<const int32_t> table, bool isKept);
  Flight::Ended endedOf(Sequence &sequence);
  Status noteFurtherRound(uint32_t slot);
  void keepEnded();
  const Snapshots::Copy *copyFor(const Sequence &sequence, uint32_t slot,
                                 uint64_t taken) const;
  uint64_t keptTokens(const Sequence &sequence) const;
  Status goOnFrom(const Snapshots::Copy &copy, Sequence &sequence,
                  uint64_t taken);
  /// What `reserve` gives for so many bytes, which takes memory that copies
  /// have where there is no other; what does not fit beside none takes none
  /// away.
  template <typename Reserve>
  auto withoutSnapshots(uint64_t bytes, Reserve reserve) {
    auto reserved = reserve();
    while (!reserved.isOk() &&
           reserved.status().code() == StatusCode::ResourceExhausted &&
           snapshots && snapshots->canMakeRoom(bytes, memory) &&
           snapshots->dropOldest())
      reserved = reserve();
    return reserved;
  }

  // Decode.cpp
  Status decodePhase();
  Status startFlight();
  Status startStopped(Flight &next);
  Status finishStopped();
  Status runOnRequest(const Flight &round);
  Status runOnRequest(uint32_t program, uint32_t n, bool isAsked);
  Status readFlight();
  Status landFlight();
  void giveBackAhead();
  Status makeRoom(RoundPlan &plan);
  uint32_t roundsFor(const RoundPlan &plan);
  void lookAhead(Sequence &sequence, uint32_t k, uint32_t rounds);
  uint64_t nextPositions(const RoundPlan &plan) const;
  Status writeRows(const RoundPlan &plan, uint32_t rounds);
  void learnTokens(Sequence &sequence, uint64_t count) const;
  void publishRound(Sequence &sequence);
  Result<std::vector<int32_t>> readSlot(Binding all, uint32_t batch,
                                        uint32_t row);
  Result<SlotResults> findResults(Sequence &sequence, const Flight &from,
                                  uint32_t row);
  Status readRow(const Flight &flight, uint32_t row);
  Status countRows(const Flight &flight);
  Status readRound(Sequence &sequence, const HostState::RoundOutput &output,
                   const Flight &from, uint32_t row);

  // Mixed.cpp
  bool canMix() const;
  bool mixesNext();
  std::vector<PrefillShare> sharesBeside(const RoundPlan &plan);
  Status findBeside(const RoundPlan &plan, Flight &next);
  uint32_t rowsBesideRound(const RoundPlan &plan, uint32_t most) const;
  Status readBeside(const Flight &over);
  void countSeconds(const Flight &over, double seconds);

  // Drafts.cpp
  Status checkK(const Request &request) const;
  void setK(Sequence &sequence) const;
  /// Positions that a round of k needs pages for which begins at `length`.
  uint64_t endOfRound(uint64_t length, uint32_t k) const {
    return roundEnd(length, inner.programs.nodes(k),
                    inner.envelope->maxContext);
  }
  std::vector<uint32_t> rowsOfSlots(const RoundPlan &plan) const;
  RoundPlan planRound();
  RoundPlan planOfOneK(const std::vector<Sequence *> &running);
  void countRound(Sequence &sequence, const Flight &from, uint32_t drafts,
                  const HostState::RoundOutput &output);

  // CatchUp.cpp
  struct CatchUp {
    Sequence *sequence;
    /// Positions of the rows that are left.
    uint64_t first, last;
  };
  Status prepareDrafters(RoundPlan &plan);
  Status catchUp(RoundPlan &plan);
  Status catchUp(std::span<Sequence *const> behind);
  Status keepUp(RoundPlan &plan);
  void goOnBehindGaps(const RoundPlan &plan) const;
  Result<CatchUp> beginCatchUp(Sequence &sequence);
  Status runCatchUps(std::vector<CatchUp> runs);
  void leaveOut(Sequence &sequence, uint32_t k, uint64_t begin) const;
  void noteCaughtUp(Sequence &sequence, uint32_t k) const;
  Status writePlaces(Sequence &sequence,
                     const std::function<bool(uint32_t)> &runs);
  bool isInReach(const Sequence &sequence, uint64_t draftedTo,
                 uint64_t tokens = 0) const;
  void noteDrafters(Sequence &sequence, uint32_t k, uint64_t anchor) const;

  // Step.cpp
  Status advance();
  void countSnapshots();
  Status checkUsable() const;
  Result<std::vector<SequenceUpdate>> step();
  Status emit(Sequence &sequence, std::span<const int32_t> tokens,
              const SlotResults &results);
  Status readOutputs(const Sequence &sequence, size_t tokens,
                     const SlotResults &results);
  void finish(Sequence &sequence, FinishReason reason, Status error = {});
  Status syncPageTable(Sequence &sequence);

  // Functions.cpp
  Result<std::vector<Tensor>> runFunction(std::string_view name,
                                          std::span<const Tensor> inputs);
  Status checkPages() const;
  Status checkSlots(const Program &program) const;

  Result<const Sequence *> find(SequenceId id) const;
  Result<Sequence *> find(SequenceId id);
  bool isIdle() const { return waiting.empty() && admitted.empty(); }
  /// A sequence that has been released does not run.
  bool isRunning(SequenceId id) const;

  CallGate gate;

  // The model and the machine; nothing here changes after start().

  /// Holds the file that `inner` and `executable` point into.
  std::shared_ptr<const Model> model;
  const Model::Impl &inner;
  SessionOptions options;
  std::unique_ptr<Executable> executable;
  /// All the memory there was when the session began.
  MemoryLimit memory = hostMemoryLimit();
  /// Of the tables of the KV pages.
  MemoryReservation tableMemory;
  /// Means nothing without an envelope.
  ReuseRule reuse;
  LibraryChoice library;

  // Pages and states of the slots; null without an envelope.

  /// Of states that running all rows makes; it outlives `kv`, which tells it
  /// of pages.
  std::unique_ptr<Snapshots> snapshots;
  std::unique_ptr<KvCacheManager> kv;
  std::unique_ptr<HostState> host;
  std::unique_ptr<SlotStates> slotStates;

  // The sequences, and who of them has a slot.

  std::map<SequenceId, Sequence> sequences;
  SequenceId nextId = 1;
  /// In order of arrival, which preempted sequences keep.
  std::set<SequenceId> waiting;
  /// Whether a request has had one that is not the usual.
  bool hasPriorities = false;
  /// Of the groups of requests.
  FairShare shares;
  /// Sequences that hold a slot, by id; the last is the youngest.
  std::set<SequenceId> admitted;
  /// Sequences that are Prefilling, in the order in which they were admitted.
  std::vector<SequenceId> prefilling;
  std::vector<bool> slotUsed;
  std::set<SequenceId> paused;

  /// Present from the start of a round until its last results are read: no
  /// program runs and no sequence gets a slot meanwhile.
  std::optional<Flight> flight;

  // What has been done.

  Statistics statistics;
  /// By the current step.
  std::map<SequenceId, SequenceUpdate> updates;

  /// Why a step failed; nothing runs from then on.
  Status failure;

  // What it costs, which decides how prompts are cut.

  /// Seconds since some point; tests have their own.
  std::function<double()> clock;
  PassCost passCost;
  /// Of rounds by all their rows, those of prompts among them.
  PassCost stepCost;
  /// The last one without rows of prompts, and of one that has stopped the
  /// first half.
  double roundSeconds = 0, halfSeconds = 0;
  bool mixes = false;
  /// For drafters that nobody waited for.
  double keepUpSeconds = 0;
  DraftPolicy draftPolicy;
  /// Of the last rounds, where only sequences of one k share a round.
  uint32_t lastK = 0;

private:
  Status checkOptions();
  KvConfig kvConfig() const;
  Status startGeneration();
  Status checkRequest(const Request &request) const;
  bool isWorthWaiting(const Sequence &sequence) const;
  Status admit(Sequence &sequence, uint32_t slot, uint64_t taken);
  void giveUpSlot(Sequence &sequence);
  void giveBackMemory(Sequence &sequence);
  Status keepLogits(Sequence &sequence, Binding row);
  std::vector<int32_t> stopTokensOf(const Request &request) const;

  friend class Session;
};

/// A way for tests into a session.
struct SessionAccess {
  /// Of what passes and rounds are timed by.
  static void setClock(Session &session, std::function<double()> clock) {
    session.impl->clock = std::move(clock);
  }
  static Session::Impl &impl(Session &session) { return *session.impl; }
  /// What runs the session's programs, to put another in its place, which must
  /// own this one.
  static std::unique_ptr<Executable> &executable(Session &session) {
    return session.impl->executable;
  }
};

/// A part of a place, from `offset` on.
Binding rowsOf(const Binding &all, uint64_t offset, uint64_t bytes);

/// InvalidArgument when a parameter is outside its range.
Status checkSampling(const SamplingParams &sampling);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SESSIONIMPL_H
