//===- session.h - Generate tokens ------------------------------*- C++ -*-===//
//
// Units: lengths and positions are in tokens, times in seconds, memory in
// bytes.
//
// Ownership: requests and tensors are copied. What is returned as a span
// belongs to the session and says how long it is valid; what is returned by
// reference lives as long as the session, and its content changes with it.
//
// Threads: any function of a session may be called by any thread; calls run one
// at a time, and one that comes during a step() waits for its end, before the
// next step(). What is returned by reference or as a span changes with later
// calls: it is for the thread that calls step(), or while nobody does. A
// session runs threads of its own inside of step() and runFunction(). Different
// sessions are independent. None may be in a call when a session is destroyed.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_SESSION_H
#define MTP_SESSION_H

#include "mtp/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// How the next token is picked from a row of logits. A pick is a pure function
/// of the logits, these parameters and the token's position in its sequence, so
/// it is the same at any k, batch, thread count and prompt chunking.
struct SamplingParams {
  /// Divides the logits. Zero: the likeliest token, the lowest one of equals.
  float temperature = 0;
  /// Keep the likeliest `topK` tokens. Zero: all.
  uint32_t topK = 0;
  /// Keep the fewest tokens that together have this share, in (0, 1].
  float topP = 1;
  /// Drop tokens less likely than this times the likeliest one, in [0, 1].
  float minP = 0;
  uint64_t seed = 0;
};

/// What a request brings to programs, under a name that the model declares.
struct RequestInput {
  std::string name;
  /// Of the type in Model::requestInputs().
  Tensor value;
};

/// A prompt and when to stop.
struct Request {
  /// At least one token; every id below the vocabulary's size.
  std::vector<int32_t> prompt;
  SamplingParams sampling;
  /// Output tokens at most, at least 1. Prompt and output together must fit
  /// into the envelope's context.
  uint32_t maxTokens = 16;
  /// Each ends the sequence like the model's own end tokens do; below the
  /// vocabulary's size.
  std::vector<int32_t> stopTokens;
  /// Goes on behind the model's end tokens (not behind `stopTokens`).
  bool ignoreEos = false;
  /// Until there are so many output tokens nothing ends the sequence: end and
  /// stop tokens are output like others. At most `maxTokens`.
  uint32_t minTokens = 0;
  /// Who comes first for a slot, pages and rows of prompts: those of the lowest
  /// number. Where slots or pages are short those of the highest lose theirs to
  /// those of lower ones, of these the youngest first, and go on later with the
  /// same tokens. Those of one number may keep all behind it waiting for ever.
  int32_t priority = 0;
  /// Who asks. Of one priority that group comes first for a slot whose
  /// sequences have had the fewest tokens, prompts included, while they and
  /// others were there; of one group who came first.
  uint64_t group = 0;
  /// Sequences share KV pages only where this is equal: else the time that a
  /// prompt takes tells whether somebody had one that begins like it. At most
  /// `kMaxSalt` bytes.
  static constexpr size_t kMaxSalt = 1024;
  std::string cacheSalt;
  /// Drafts in a round, at most the session's k; or as the session has it
  /// (`SessionOptions::k` and `automaticK`); or as many as are worth it, up to
  /// the session's k. The output is the same at any. Where the artifact's rule
  /// is not known to be exact, it does depend on k: automatic is the session's
  /// k then, and every round of the sequence is of just its k.
  static constexpr uint32_t kSessions = UINT32_MAX;
  static constexpr uint32_t kAutomatic = UINT32_MAX - 1;
  uint32_t k = kSessions;
  /// Each of Model::requestInputs() at most once; the others have the initial
  /// values that the model gives them. Sequences share KV pages only where all
  /// of these are equal.
  std::vector<RequestInput> inputs;
  /// Names of Model::requestOutputs(), each at most once, which updates are to
  /// have (SequenceUpdate::outputs). While such a sequence runs, launches have
  /// one round, as where logits are kept.
  std::vector<std::string> outputs;
  /// The host sees what each round has drafted before it is verified, and may
  /// write the sequence's inputs anew (Session::setInput), as a grammar does
  /// that allows some tokens at each row. Such a round takes two calls of
  /// step(): the first returns the drafts (SequenceUpdate::seen). While such a
  /// sequence runs, launches have one round. For models whose rounds may stop
  /// there (Model::showsDrafts()).
  bool seesDrafts = false;
};

/// Which logits a session keeps for each sequence, for tests and analysis. A
/// session that keeps none does not write those of greedy sequences at all.
enum class LogitsMode : uint8_t {
  None,
  /// The row that the latest output token was picked from.
  Last,
  /// The rows of all output tokens: memory for maxTokens rows of vocab floats
  /// is reserved from add() on, and for those that came until release().
  All,
};

struct SessionOptions {
  /// Drafts in a round at most, and those of requests that do not say how many
  /// (Request::k). At most the envelope's, which is the default.
  static constexpr uint32_t kMaximum = UINT32_MAX;
  uint32_t k = kMaximum;
  /// Requests that do not say how many have as many drafts as are worth it, up
  /// to `k`: the session measures what rounds cost and what is accepted. It
  /// goes on from what a session of this model and as many threads has measured
  /// that was destroyed before. No token depends on it.
  bool automaticK = false;
  /// Threads, the caller of step() included, at most 1024. Zero: one for each
  /// usable processor; more threads than processors gain nothing. A GPU needs
  /// none, and does not look at this.
  uint32_t threads = 0;
  /// Bind each thread to a processor of its own.
  bool pinThreads = false;
  /// Take the memory of KV pages, arena and states from the system when the
  /// session begins, where that is at most half of what is available then. Else
  /// steps take it as they use it, and those that begin new pages of the system
  /// in all layers wait for these. A GPU's is taken in any case.
  bool populateMemory = false;
  /// KV pages, the dummy page included: 2 to 2^31 - 1. Zero: enough for every
  /// slot at full context.
  uint32_t kvPages = 0;
  /// Slots to use, at most the envelope's. Zero: all.
  uint32_t maxSlots = 0;
  /// The largest chunk that prompts are cut into, one of the envelope's
  /// `prefillChunks`. Zero: the envelope's default. The last tokens of a prompt
  /// go through smaller chunks.
  uint32_t prefillChunk = 0;
  /// Chunks of prompts in one step(), of `prefillChunk` rows each: they bound
  /// how long running sequences wait for the prompts of new ones. The default
  /// is one chunk or less, by `promptMilliseconds`, if a sequence is running
  /// when the step begins; else a step goes on until a sequence has its first
  /// token. Other values bound rows alone, whoever runs.
  static constexpr uint32_t kOneBesideRunning = 0;
  static constexpr uint32_t kUnbounded = UINT32_MAX;
  uint32_t chunksPerStep = kOneBesideRunning;
  /// How long the prompts of a step() should hold up those who run, in
  /// milliseconds; where a round takes longer, as long as a round. A step then
  /// computes the rows that take about so long, by the times of the passes
  /// before: 16 at least, and whole chunks of a library in any case. Zero: no
  /// bound but `chunksPerStep`, without whose default it means nothing.
  uint32_t promptMilliseconds = 20;
  /// How long a round with rows of a prompt beside its own should take, in
  /// milliseconds: so many rows are taken, by the times of the rounds before,
  /// one in any case. Zero: as long as a round and `promptMilliseconds` behind
  /// it, with 16 rows in any case.
  uint32_t stepMilliseconds = 0;
  /// Compute rows of prompts in passes of their own alone, where the artifact
  /// has programs that run them beside those of rounds. No token depends on it.
  bool separatePrompts = false;
  /// Rounds that follow each other on the device before the host comes in, at
  /// most the artifact's: on a GPU the host then costs nothing, and a new
  /// sequence waits for the end of a round all the same. Zero: 1 on a CPU, 16
  /// on a GPU. Fewer run where pages are short, prompts wait, or a sequence has
  /// more end and stop tokens than a device compares (8); one where logits are
  /// kept or a request asks for outputs.
  uint32_t roundsPerLaunch = 0;
  /// Share the KV pages of equal prefixes, of prompts and of generated tokens.
  bool prefixCache = true;
  /// Of a model with recurrent layers, whose states are in no page: bytes of
  /// host memory for copies of them, by which a prefix may be shared. They are
  /// made where prompts are read, behind sequences that end, and of those that
  /// are preempted or paused, with the KV entries that are in no page of the
  /// prefix cache. Those that nobody used for longest go first.
  /// Less than one copy (Session::snapshotBytes), as zero: no prefix is shared,
  /// and a preempted sequence runs all of its tokens again.
  uint64_t snapshotBytes = uint64_t(1) << 30;
  /// A copy is made behind every so many tokens of a prompt, rounded up to
  /// whole pages, and behind its last whole page. Not zero.
  uint32_t snapshotTokens = 512;
  LogitsMode logits = LogitsMode::None;
  /// Compute prompts on a GPU by the plan's kernels alone. Else a library of
  /// the GPU's vendor multiplies the rows of whole chunks where the artifact
  /// has programs for that: faster, and a prompt of which pages are shared that
  /// another sequence had as the end of its prompt, or generated, may then
  /// differ in bits from one that is computed whole.
  bool deterministic = false;
};

using SequenceId = uint64_t;

enum class FinishReason : uint8_t {
  /// Not finished.
  None,
  /// An end or stop token; it is not part of the output.
  Stop,
  /// maxTokens reached.
  Length,
  Cancelled,
  /// See SequenceUpdate::error.
  Failed,
};

/// Rows of an output that a request asked for.
struct OutputRows {
  std::string name;
  /// The rows, outermost. Where the output is per token, one for each of the
  /// last tokens of the update: programs that do not write the output, as the
  /// prefill of many methods, give none for their tokens. Else one for each
  /// round or prefill that wrote it and gave tokens.
  Tensor rows;
  /// Of an output that is not per token: how many tokens each row goes with.
  std::vector<uint32_t> tokens;
};

/// What a round has drafted for a sequence.
struct SeenDrafts {
  /// The tokens of the drafts in the order of their nodes, behind the anchor,
  /// which is the last output token. -1 is none, and what follows from it
  /// cannot be accepted. None at all in a round without drafts. The row that
  /// verifies draft i - 1 picks behind it, row 0 behind the anchor.
  std::vector<int32_t> tokens;
  /// Of a tree that the program computes, and hands out, a parent for the
  /// anchor, which means nothing, and for each draft: 0 is the anchor, i draft
  /// i - 1. Else empty.
  std::vector<int32_t> parents;
};

/// What one step did for one sequence.
struct SequenceUpdate {
  SequenceId id = 0;
  /// New output tokens, in order.
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::None;
  /// Why it failed; OK otherwise. Other sequences are not affected.
  Status error;
  /// Drafts that the rounds had which gave these tokens, in all; fewer than k
  /// where a slot wanted fewer. A prompt's first token has none.
  uint32_t drafted = 0;
  /// In the order of Request::outputs; empty where there are no new tokens.
  std::vector<OutputRows> outputs;
  /// Of a sequence that sees drafts: those of the round that has stopped for
  /// the host. The next step() goes on with it.
  std::optional<SeenDrafts> seen;
};

/// Counts and times since a session or sequence began.
struct Statistics {
  /// Decode rounds. Of a session: programs run, whatever the batch.
  uint64_t rounds = 0;
  /// Rounds summed over sequences: what acceptance rates are relative to.
  uint64_t slotRounds = 0;
  /// Rows that the target computed in decode rounds: of each slot the anchor's
  /// and those of the drafts that could be accepted, none of a sequence that
  /// had ended. All of a round where a program does not say it. Rounds that
  /// follow each other on a device count when the last has ended, which a step
  /// behind the last token finds.
  uint64_t roundRows = 0;
  /// Rows that these rounds had room for: k + 1 of each slot.
  uint64_t roundCapacity = 0;
  /// Tokens that decode rounds emitted before any truncation at a stop; divided
  /// by slotRounds it is the mean acceptance length.
  uint64_t roundTokens = 0;
  /// Tokens given to the caller, and those of them that decode rounds emitted:
  /// the first token of a sequence is prefill's.
  uint64_t outputTokens = 0;
  uint64_t decodeTokens = 0;
  /// Prompt tokens computed, and taken from the prefix cache.
  uint64_t prefillTokens = 0;
  uint64_t cachedTokens = 0;
  uint64_t prefillChunks = 0;
  /// Of prefillTokens, those whose rows a library multiplied.
  uint64_t libraryTokens = 0;
  /// Of prefillTokens, those whose rows ran beside a round's.
  uint64_t besideTokens = 0;
  /// Tokens that drafters had fallen behind, in rounds without them, and for
  /// which they were refreshed.
  uint64_t caughtUpTokens = 0;
  uint64_t preemptions = 0;
  /// Copies of recurrent states that were made and that are there no more, and
  /// bytes of those that are: of sessions only, as they were when the last
  /// step() ended, whatever other calls have made and dropped since. Copies
  /// that sequences went on from, and of these those of sequences that had lost
  /// a slot, preempted or paused.
  uint64_t snapshots = 0;
  uint64_t droppedSnapshots = 0;
  uint64_t snapshotBytes = 0;
  uint64_t restoredSnapshots = 0;
  uint64_t restoredPreemptions = 0;
  /// Per draft position, in a tree per depth: rounds of a slot that had a draft
  /// there which could be accepted, and those that accepted one. A draft that
  /// the drafter leaves out (-1) counts as none, and so do those behind it.
  /// Where rounds have no ring, it is not said, and all k count as made.
  std::vector<uint64_t> drafted;
  std::vector<uint64_t> accepted;
  /// Rounds by how many drafts they were to have: of a session by the round's
  /// k, of a sequence by its own share. From 0 to the session's k.
  std::vector<uint64_t> roundsByK;
  /// Sessions only: wall time, in seconds.
  double prefillSeconds = 0;
  double decodeSeconds = 0;
};

/// Where a sequence is.
enum class SequenceState : uint8_t {
  /// For a slot and pages.
  Waiting,
  /// Its prompt is being computed, after a preemption or a pause its output
  /// too.
  Prefilling,
  /// In the rounds, also while it is about to be paused.
  Running,
  Paused,
  /// FinishReason says why.
  Finished,
};

/// Sequences of a session by their state.
struct SequenceCounts {
  uint32_t waiting = 0;
  uint32_t prefilling = 0;
  uint32_t running = 0;
  uint32_t paused = 0;
  /// Those that have not been released.
  uint32_t finished = 0;
};

/// How the KV pages are used; the dummy page counts nowhere.
struct KvUsage {
  uint32_t freePages = 0;
  /// Content kept for reuse, given up when needed.
  uint32_t cachedPages = 0;
  uint32_t heldPages = 0;
};

/// Runs sequences on one model: memory, KV pages and threads. Different
/// sessions are independent of one another, but for the memory of the machine,
/// which they share.
class Session {
public:
  /// Makes a session that keeps `model` alive.
  ///
  /// Errors: InvalidArgument when an option is outside the envelope,
  /// FailedPrecondition when this machine lacks what the kernels need,
  /// ResourceExhausted when arena, states, scratch and KV pages are more than
  /// what the process's other sessions, kept logits and copied files leave of
  /// all the memory that it may use (on a GPU: these and weights more than is
  /// free there), or threads cannot be started. The memory is reserved until
  /// the session ends, used or not.
  static Result<std::unique_ptr<Session>>
  create(std::shared_ptr<const Model> model,
         const SessionOptions &options = {});

  ~Session();

  /// Processors that this process may keep busy: those of its affinity mask, or
  /// fewer where a control group's quota gives it less time.
  static uint32_t usableProcessors();

  /// Queues a sequence. It is admitted by a later step() when a slot and pages
  /// are free: by priority and group, and of one group first come, first
  /// served.
  ///
  /// Errors: InvalidArgument for a bad request, a k above the session's among
  /// others, OutOfRange when it can never
  /// fit into the envelope, ResourceExhausted when it can never fit into the KV
  /// pages, or the logits that are to be kept of it do not fit into memory
  /// beside what the process has reserved, FailedPrecondition without an
  /// envelope, and the error of a step() that failed. Nothing changes then.
  Result<SequenceId> add(Request request);

  /// Admits and prefills waiting sequences, then runs one decode round for all
  /// running ones; where the artifact's rule is not known to be exact, for
  /// those of one k, the next step for those of the next. Where rounds follow
  /// each other on the device, it waits for at least one that is new and
  /// returns what all of these gave. Where one of the running sequences sees
  /// drafts, it returns in the middle of the round (awaitsHost()), and runs the
  /// rest when it is called again. Returns what changed, in order of id.
  /// Without work it returns an empty list.
  ///
  /// Errors are those of the device. A kernel's fault on a GPU is Internal, and
  /// so is what any session of the process tries there from then on. What a
  /// step gave before it failed is returned, and the error by the next one.
  ///
  /// Nothing runs after an error: step(), add() and runFunction() return it
  /// again. All else works. The sequences that had not ended stay as they are
  /// (unfinished()), with every token that step() has returned (output()).
  /// Each can be run again in another session: its prompt with that output
  /// behind it, as many max tokens less, and the same sampling parameters go on
  /// with the same tokens, unless the model has states that a session saves
  /// over preemptions (`rebuild save`).
  Result<std::vector<SequenceUpdate>> step();

  /// Writes an input of a sequence that sees drafts (Request::seesDrafts): what
  /// runs next reads it, be it the second half of the round that has stopped,
  /// or a prefill, and all that follows, over preemptions too. Until then the
  /// sequence has what it had. KV pages that rounds fill are not shared from
  /// then on; what fills them must not depend on the input where a preempted
  /// sequence is to go on with the same tokens.
  ///
  /// Errors: NotFound for an unknown id, FailedPrecondition for a sequence that
  /// has finished or does not see drafts, InvalidArgument for a name that the
  /// model does not have (Model::requestInputs()) or a value of another type,
  /// the error of a step() that failed, and those of the device.
  Status setInput(SequenceId id, RequestInput input);

  /// Whether a round has stopped, and the next step() runs its second half: no
  /// sequence is admitted, prefilled or preempted before. cancel() works; what
  /// the round gives a cancelled sequence is dropped.
  bool awaitsHost() const;

  /// Whether no sequence is waiting or running, and step() has nothing to do:
  /// those of unfinished() are paused then.
  bool idle() const;

  /// Sleeps until step() has something to do, until wake() is called, or for so
  /// many seconds (infinity: for ever; none at all: does not sleep). Returns
  /// whether step() has something to do. A wake() that nobody was waiting for
  /// ends the next wait().
  bool wait(double seconds);
  void wake();

  /// The sequences that wait, run or are paused, in order of id.
  std::vector<SequenceId> unfinished() const;

  /// Sets a sequence aside: its slot and pages are for others, and it waits for
  /// none until resume(). It goes on with the same tokens then, as after a
  /// preemption: what the prefix index still has of its pages is taken, the
  /// rest computed again. Of a model with recurrent layers it is what it
  /// carries that counts: a copy of that is made, with its KV entries, where
  /// there is memory for one (SessionOptions::snapshotBytes), and what stands
  /// in front of it is taken from there and from pages; without one all its
  /// tokens behind the last copy that there is run again. Nothing is copied of
  /// a sequence whose input setInput() wrote anew. While rounds are under way
  /// it gets their tokens first (those of a launch end behind the round that
  /// runs), and is paused behind them, by the step() that finds their end. No
  /// effect on a sequence that is paused or finished; cancel() works.
  ///
  /// Errors: NotFound for an unknown id, the error of a step() that failed, and
  /// Internal where the device fails.
  Status pause(SequenceId id);

  /// Lets a sequence wait for a slot again, in the place that it had. No effect
  /// on one that is not paused. NotFound for an unknown id, and the
  /// error of a step() that failed.
  Status resume(SequenceId id);

  /// Where a sequence is; NotFound for an unknown id.
  Result<SequenceState> state(SequenceId id) const;
  /// How many sequences are in each state.
  SequenceCounts counts() const;

  /// Ends a sequence now and frees its pages. NotFound for an unknown id; no
  /// effect on a finished one.
  Status cancel(SequenceId id);

  /// Forgets a finished sequence. Until then output(), statistics(id) and
  /// logits() work, and the logits take memory. NotFound for an unknown id,
  /// FailedPrecondition for a sequence that has not finished.
  Status release(SequenceId id);

  /// All output tokens so far, in order; valid until the next non-const call.
  /// NotFound for an unknown id.
  Result<std::span<const int32_t>> output(SequenceId id) const;
  /// Why it ended, or None, and what was counted of it so far. NotFound for an
  /// unknown id.
  Result<FinishReason> finishReason(SequenceId id) const;
  Result<Statistics> statistics(SequenceId id) const;

  /// The logits row, `vocab` long, that output token `index` was picked from;
  /// valid until the next non-const call. With LogitsMode::Last only the last
  /// token has one. NotFound for an unknown id, OutOfRange past the output,
  /// FailedPrecondition if the session keeps no such row.
  Result<std::span<const float>> logits(SequenceId id, size_t index) const;

  /// What was counted since the session began: later steps change it, so it is
  /// for the thread that steps, or while none does.
  const Statistics &statistics() const;
  /// A copy of it, for any thread.
  Statistics copyStatistics() const;
  /// How its KV pages are used now; all zero without an envelope.
  KvUsage kvUsage() const;

  /// Compares all page counts and tables with one another; Internal names the
  /// first that is wrong. For tests.
  Status checkInvariants() const;

  /// Who multiplies the rows of prompts, for people: "own kernels", "cuBLASLt
  /// 13.1.0 for whole chunks of 128 rows". Empty without an envelope.
  const std::string &promptKernels() const;

  /// Options with all defaults filled in.
  const SessionOptions &options() const;
  const std::shared_ptr<const Model> &model() const;

  /// Memory of arena, states, KV pages and scratch, in bytes, of the machine or
  /// of its GPU.
  uint64_t memoryBytes() const;

  /// Bytes of one copy of what recurrent layers carry
  /// (SessionOptions::snapshotBytes); 0 where the model has none.
  uint64_t snapshotBytes() const;

  /// Runs an exported function. Sequences are not affected. The values of
  /// slots, positions, tokens and indices among the inputs are trusted, as the
  /// artifact's own are.
  ///
  /// A function that uses caches takes all KV pages for itself, and its entries
  /// stay there until sequences overwrite them.
  ///
  /// Each row of an input whose name ends in ".distributions", along its last
  /// dimension, must be finite numbers of 0 or more whose sum is at most 0.004
  /// off 1.
  ///
  /// Errors: NotFound for an unknown name, InvalidArgument when count, types,
  /// shapes or byte counts of the inputs are not the function's or a row is no
  /// distribution, ResourceExhausted when the results are larger than memory.
  /// If the function uses caches also FailedPrecondition, while pages are held
  /// or cached or when the session has fewer pages than the default.
  Result<std::vector<Tensor>> runFunction(std::string_view name,
                                          std::span<const Tensor> inputs);

  class Impl;

private:
  /// Of tests; its header is not installed.
  friend struct SessionAccess;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mtp

#endif // MTP_SESSION_H
