//===- session.h - Generate tokens ------------------------------*- C++ -*-===//
//
// Units: lengths and positions are in tokens, times in seconds, memory in
// bytes.
//
// Ownership: requests and tensors are copied. A returned span belongs to the
// session, and its function says how long it is valid. A returned reference
// lives as long as the session, and its content changes with the session.
//
// Threads: any thread may call any function of a session. Calls run one at a
// time. A call that comes during a step() waits until that step() ends and runs
// before the next step(). A returned span or reference changes with later
// calls: use it on the thread that calls step(), or while no thread does. A
// session runs threads of its own inside step() and runFunction(). Different
// sessions are independent. No call may be in progress when a session is
// destroyed.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_SESSION_H
#define MTP_RUNTIME_INCLUDE_MTP_SESSION_H

#include "mtp/constraint.h"
#include "mtp/logit_rules.h"
#include "mtp/logprobs.h"
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
/// of the logits, these parameters and the token's position in its sequence. It
/// is therefore the same at any k, batch, thread count and prompt chunking.
struct SamplingParams {
  /// Divisor of the logits. Zero picks the likeliest token, and the lowest id
  /// if several are equally likely.
  float temperature = 0;
  /// Number of likeliest tokens to keep. Zero: all.
  uint32_t topK = 0;
  /// Probability in (0, 1]: the smallest set of likeliest tokens that together
  /// reach it is kept.
  float topP = 1;
  /// Factor in [0, 1]: tokens less likely than `minP` times the likeliest token
  /// are dropped.
  float minP = 0;
  uint64_t seed = 0;
};

/// A value that a request passes to programs, under a name that the model
/// declares.
struct RequestInput {
  std::string name;
  /// The value, of the type in Model::requestInputs().
  Tensor value;
};

/// A prompt and when to stop.
struct Request {
  /// At least one token; every id below the vocabulary's size.
  std::vector<int32_t> prompt;
  SamplingParams sampling;
  /// Only for models with rules (Model::hasLogitRules()), unless all are off.
  LogitRules rules;
  /// The tokens that may follow each other; null: all. While such a sequence
  /// runs, a launch has one round, which stops after the drafts for their
  /// masks. Only for models that mask tokens (Model::masksTokens()).
  std::shared_ptr<const TokenConstraint> constraint;
  /// Maximum number of output tokens, at least 1. Prompt and output together
  /// must fit into the envelope's context.
  uint32_t maxTokens = 16;
  /// Tokens that end the sequence, as the model's own end tokens do. Each is
  /// below the vocabulary's size.
  std::vector<int32_t> stopTokens;
  /// Continues after the model's end tokens (not after `stopTokens`).
  bool ignoreEos = false;
  /// Number of output tokens before which nothing ends the sequence, at most
  /// `maxTokens`. With Model::hasLogitRules() end and stop tokens are not
  /// picked before. Otherwise they are output like other tokens.
  uint32_t minTokens = 0;
  /// Scheduling priority; lower values run first. Priority decides about slots,
  /// KV pages and prompt rows. When slots or pages run out, the youngest
  /// sequence of the highest value is preempted and resumes later with the same
  /// tokens. Steady traffic of a low value can starve all higher values.
  int32_t priority = 0;
  /// Fair-share group, e.g. one per API key. Among requests of equal priority,
  /// a slot goes to the group that has consumed the fewest tokens, prompts
  /// included, while other groups were present; in a group, the oldest first.
  uint64_t group = 0;
  /// Sequences share KV pages only if their salts are equal. Without a salt,
  /// the time that a prompt takes reveals whether another request had a prompt
  /// with the same beginning. At most `kMaxSalt` bytes.
  static constexpr size_t kMaxSalt = 1024;
  std::string cacheSalt;
  /// Kind that profiles count apart: at most 32 letters, digits, "-" and "_".
  std::string kind;
  /// Number of drafts in a round: a number up to the session's k, `kSessions`
  /// (the session's `SessionOptions::k` and `automaticK` decide), or
  /// `kAutomatic` (the number that is worth its time, up to the session's k).
  /// The output is the same for every value if the artifact's accept rule is
  /// known to be exact. Otherwise it depends on k, `kAutomatic` means the
  /// session's k, and every round of the sequence has exactly its k.
  static constexpr uint32_t kSessions = UINT32_MAX;
  static constexpr uint32_t kAutomatic = UINT32_MAX - 1;
  uint32_t k = kSessions;
  /// Confidence of 0 to 1 below which a drafter ends its drafts; none: the
  /// session's. Only for models of mtp-import --confidence.
  std::optional<float> draftPMin;
  /// Inputs of Model::requestInputs(), each at most once; others have the
  /// model's initial values. Sequences share KV pages only if they are equal.
  std::vector<RequestInput> inputs;
  /// Names of Model::requestOutputs() that updates are to contain
  /// (SequenceUpdate::outputs), each at most once. While such a sequence runs,
  /// a launch has one round, as it does when logits are kept.
  std::vector<std::string> outputs;
  /// Log-probabilities of output and prompt tokens that updates are to contain.
  LogprobsRequest logprobs;
  /// Shows the host the drafts of each round before they are verified. The host
  /// may then write inputs of the sequence (Session::setInput). Such a round
  /// takes two calls of step(), and the first returns the drafts
  /// (SequenceUpdate::seen). A launch has one round while such a sequence runs.
  /// Only for models whose rounds can stop there (Model::showsDrafts()).
  bool seesDrafts = false;
};

/// Which logits a session keeps for each sequence, for tests and analysis. With
/// None, the logits of greedy sequences are not written at all.
enum class LogitsMode : uint8_t {
  None,
  /// The row that the latest output token was picked from.
  Last,
  /// The rows of all output tokens. Memory for maxTokens rows of vocab floats
  /// is reserved by add(), and the memory of written rows is held until
  /// release().
  All,
};

struct SessionOptions {
  /// Maximum number of drafts in a round, and the number for requests with
  /// Request::kSessions. At most, and by default, the envelope's.
  static constexpr uint32_t kMaximum = UINT32_MAX;
  uint32_t k = kMaximum;
  /// Chooses the number of drafts for requests with Request::kSessions, up to
  /// `k`, by measured costs and acceptance, at first those of a destroyed
  /// session of the same model and number of threads. No token depends on it.
  bool automaticK = false;
  /// Request::draftPMin of requests without one. None: the model's, or with
  /// `automaticK` and a profile the one that pays.
  std::optional<float> draftPMin;
  /// Number of threads, including the caller of step(), at most 1024. Zero: one
  /// for each usable processor; more gain nothing. Ignored on a GPU.
  uint32_t threads = 0;
  /// Bind each thread to a processor of its own.
  bool pinThreads = false;
  /// Takes the memory of KV pages, arena and states from the system when the
  /// session begins, if that is at most half of the memory available then.
  /// Otherwise steps wait for it at its first use. A GPU's is taken at once.
  bool populateMemory = false;
  /// KV pages, the dummy page included: 2 to 2^31 - 1. Zero: enough for every
  /// slot at full context.
  uint32_t kvPages = 0;
  /// Slots to use, at most the envelope's. Zero: all.
  uint32_t maxSlots = 0;
  /// The largest chunk of a prompt, one of the envelope's `prefillChunks`;
  /// zero: its default. The last tokens of a prompt go through smaller chunks.
  uint32_t prefillChunk = 0;
  /// Maximum number of prompt chunks in one step(), of `prefillChunk` rows
  /// each. It bounds how long running sequences wait for new prompts. With the
  /// default, a step computes at most one chunk, limited by
  /// `promptMilliseconds`, if a sequence is running when the step begins.
  /// Otherwise it continues until a sequence has its first token. With any
  /// other value only the number of rows is bounded, in both cases.
  static constexpr uint32_t kOneBesideRunning = 0;
  static constexpr uint32_t kUnbounded = UINT32_MAX;
  uint32_t chunksPerStep = kOneBesideRunning;
  /// How long the prompts of a step() may delay running sequences, in
  /// milliseconds, or as long as one round if a round takes longer. A step then
  /// computes the number of rows that takes about that time, as predicted from
  /// earlier passes. It computes at least 16 rows, and always whole chunks of a
  /// GPU library. Zero: only `chunksPerStep` is a limit. Used only if
  /// `chunksPerStep` has its default.
  uint32_t promptMilliseconds = 20;
  /// Target time of a round that also computes prompt rows, in milliseconds.
  /// The number of prompt rows is predicted from earlier rounds and is at least
  /// one. Zero: the time of a round plus `promptMilliseconds`, and at least 16
  /// rows.
  uint32_t stepMilliseconds = 0;
  /// Computes prompt rows in passes of their own only. Changes no token.
  bool separatePrompts = false;
  /// Maximum number of rounds that run on the device without the host between
  /// them, limited by the artifact. On a GPU this hides the host's time. A new
  /// sequence waits for the end of two rounds at most. Zero: 1 on a CPU; on a
  /// GPU as a profile says, else 16. Fewer run if pages are short, prompts
  /// wait, or a sequence has more than 8 end and stop tokens. One round runs if
  /// logits are kept or a request asks for outputs or log-probabilities.
  uint32_t roundsPerLaunch = 0;
  /// Numbers of slots, 1 to `maxSlots`, whose rounds run their own programs.
  /// Others run the next larger one with padding rows, whose pages stay out of
  /// the prefix cache: up to a quarter of `kvPages`, or additional default
  /// pages. Empty: as a profile says on a GPU, else all. Changes no token.
  std::vector<uint32_t> captureSizes;
  /// Shares the KV pages of equal prefixes of prompts and generated tokens.
  bool prefixCache = true;
  /// Bytes of host memory for snapshots of recurrent states, which are in no
  /// page. A model with recurrent layers shares only prefixes with a snapshot.
  /// Snapshots are made while prompts are read, after sequences end, and when
  /// sequences are preempted or paused, then with their KV entries outside the
  /// prefix cache. The least recently used ones are dropped first. Below the
  /// size of one snapshot (Session::snapshotBytes) no prefix is shared, and a
  /// preempted sequence recomputes all of its tokens.
  uint64_t snapshotBytes = uint64_t(1) << 30;
  /// Number of prompt tokens between two snapshots, rounded up to whole pages.
  /// One more snapshot follows the prompt's last whole page. Not zero.
  uint32_t snapshotTokens = 512;
  LogitsMode logits = LogitsMode::None;
  /// Keeps times, acceptance and load for a profile, but no text.
  bool recordsProfile = false;
  /// Computes prompts on a GPU with the plan's own kernels only. Otherwise the
  /// GPU vendor's library multiplies rows of whole chunks if the artifact has
  /// programs for that. If a prompt then reuses pages of a generated text or of
  /// the end of another prompt, its bits may differ from a computed prompt's.
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
  /// The rows, outermost. If the output is per token, there is one row for each
  /// of the last tokens of the update. A program that does not write the
  /// output, for example the prefill of many drafting methods, gives no rows
  /// for its tokens. If the output is not per token, there is one row for each
  /// round or prefill that wrote the output and gave tokens.
  Tensor rows;
  /// Number of tokens for each row, for an output that is not per token.
  std::vector<uint32_t> tokens;
};

/// The drafts of one round for a sequence.
struct SeenDrafts {
  /// Draft tokens in the order of their nodes. They follow the anchor, which is
  /// the last output token. -1 means no draft, and drafts that follow from it
  /// cannot be accepted. Empty in a round without drafts. The row that verifies
  /// draft i - 1 picks the token after that draft; row 0 picks the token after
  /// the anchor.
  std::vector<int32_t> tokens;
  /// Parents in a tree that the program computes and outputs; otherwise empty.
  /// The first element belongs to the anchor and has no meaning. Each draft has
  /// one element: 0 is the anchor, i is draft i - 1.
  std::vector<int32_t> parents;
};

/// The result of one step for one sequence.
struct SequenceUpdate {
  SequenceId id = 0;
  /// New output tokens, in order.
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::None;
  /// The end or stop token that ended the sequence; it is not part of the
  /// output.
  std::optional<int32_t> stopToken;
  /// Reason of a failure; OK otherwise. Other sequences are not affected.
  Status error;
  /// Number of drafts in the rounds that gave these tokens. Less than k per
  /// round if the slot asked for fewer. The first token of a prompt has no
  /// drafts.
  uint32_t drafted = 0;
  /// Outputs in the order of Request::outputs; empty if there are no new
  /// tokens.
  std::vector<OutputRows> outputs;
  /// Log-probabilities of `tokens`, if the request asks for them.
  std::vector<TokenLogprobs> logprobs;
  /// Log-probabilities of all prompt tokens after the first. They come once, at
  /// the latest with the first output token.
  std::vector<TokenLogprobs> promptLogprobs;
  /// Drafts of the stopped round, for a sequence with Request::seesDrafts. The
  /// next step() continues the round.
  std::optional<SeenDrafts> seen;
};

/// Counts and times since a session or sequence began.
struct Statistics {
  /// Number of decode rounds. For a session: programs run, whatever the batch.
  uint64_t rounds = 0;
  /// Rounds summed over sequences, the denominator of acceptance rates.
  uint64_t slotRounds = 0;
  /// Sessions only: rounds with padding slots, and the sum of these slots.
  uint64_t paddedRounds = 0, paddingSlots = 0;
  /// Rows that the target computed in decode rounds. For each slot, the
  /// anchor's row and the rows of drafts that could be accepted; none for a
  /// sequence that had ended. If a program does not report its rows, all rows
  /// of the round count. Rounds of one launch are counted when the last of them
  /// has ended, which is noticed one step after the last token.
  uint64_t roundRows = 0;
  /// Row capacity of these rounds: k + 1 for each slot.
  uint64_t roundCapacity = 0;
  /// Tokens that decode rounds emitted, before truncation at a stop.
  /// `roundTokens` / `slotRounds` is the mean acceptance length.
  uint64_t roundTokens = 0;
  /// Tokens given to the caller, and the number of them that decode rounds
  /// emitted: the first token of a sequence comes from its prefill.
  uint64_t outputTokens = 0;
  uint64_t decodeTokens = 0;
  /// Prompt tokens computed, and prompt tokens taken from the prefix cache.
  uint64_t prefillTokens = 0;
  uint64_t cachedTokens = 0;
  uint64_t prefillChunks = 0;
  /// Part of `prefillTokens` whose rows a GPU library multiplied.
  uint64_t libraryTokens = 0;
  /// Part of `prefillTokens` whose rows ran in mixed batches.
  uint64_t mixedTokens = 0;
  /// Tokens that drafters skipped in rounds without drafts and caught up on.
  uint64_t caughtUpTokens = 0;
  uint64_t preemptions = 0;
  /// Snapshots of recurrent states: the number made, the number dropped since,
  /// and the bytes that remain. Only for sessions, as of the end of the last
  /// step(). Then the number of snapshots from which sequences continued, and
  /// the part of it of sequences that had been preempted or paused.
  uint64_t snapshots = 0;
  uint64_t droppedSnapshots = 0;
  uint64_t snapshotBytes = 0;
  uint64_t restoredSnapshots = 0;
  uint64_t restoredPreemptions = 0;
  /// Per draft position (per depth in a tree): the number of slot rounds with
  /// an acceptable draft at the position, and the number that accepted it. A
  /// draft that the drafter leaves out (-1) and the drafts after it are not
  /// counted. If rounds have no ring, drafts are not reported, and all k count
  /// as made.
  std::vector<uint64_t> drafted;
  std::vector<uint64_t> accepted;
  /// Number of rounds by planned number of drafts, from 0 to the session's k.
  /// For a session: the round's k. For a sequence: the sequence's own number.
  std::vector<uint64_t> roundsByK;
  /// Sessions only: wall time, in seconds.
  double prefillSeconds = 0;
  double decodeSeconds = 0;
};

/// The state of a sequence.
enum class SequenceState : uint8_t {
  /// Waiting for a slot and pages.
  Waiting,
  /// Its prompt is being computed. After a preemption or a pause, its output is
  /// computed again, too.
  Prefilling,
  /// Takes part in rounds, also while a pause is pending.
  Running,
  Paused,
  /// FinishReason says why.
  Finished,
};

/// Number of sequences in each state.
struct SequenceCounts {
  uint32_t waiting = 0;
  uint32_t prefilling = 0;
  uint32_t running = 0;
  uint32_t paused = 0;
  /// Finished, but not released.
  uint32_t finished = 0;
};

/// Use of the KV pages. The dummy page is not counted.
struct KvUsage {
  uint32_t freePages = 0;
  /// Pages kept for reuse; given up when other sequences need them.
  uint32_t cachedPages = 0;
  uint32_t heldPages = 0;
};

/// Runs sequences on one model with its own memory, KV pages and threads. All
/// sessions share the machine's memory.
class Session {
public:
  /// Makes a session that keeps `model` alive.
  ///
  /// Errors: InvalidArgument if an option is outside the envelope.
  /// FailedPrecondition if this machine lacks what the kernels need.
  /// ResourceExhausted if threads cannot be started, or if arena, states,
  /// scratch and KV pages do not fit into memory. The limit is the memory that
  /// the process may use, less what its other sessions, kept logits and copied
  /// files have reserved. On a GPU arena, states, scratch, KV pages and weights
  /// must fit into the memory that is free there. The memory is reserved until
  /// the session ends, used or not.
  static Result<std::unique_ptr<Session>>
  create(std::shared_ptr<const Model> model,
         const SessionOptions &options = {});

  ~Session();

  /// Returns the number of processors that this process may keep busy: the size
  /// of its affinity mask, or fewer if a control group's quota gives it less
  /// time.
  static uint32_t usableProcessors();

  /// Queues a sequence. A later step() admits it when a slot and pages are
  /// free. The order is by priority, then group, then arrival.
  ///
  /// Errors: InvalidArgument for a bad request, for example a k above the
  /// session's. OutOfRange if it can never fit into the envelope.
  /// ResourceExhausted if it can never fit into the KV pages, or if the logits
  /// to keep do not fit into memory with all that the process has reserved.
  /// FailedPrecondition without an envelope, or for log-probabilities of a
  /// prompt that the model cannot score, and the error of a step() that failed.
  /// Nothing changes then.
  Result<SequenceId> add(Request request);

  /// Admits and prefills waiting sequences, then runs one decode round for all
  /// running sequences. Returns what changed, in order of id; without work the
  /// list is empty.
  ///
  /// - If the artifact's accept rule is not known to be exact, a round runs the
  ///   sequences of a single k, and the next step runs the next k.
  /// - If a launch has several rounds, step() waits for at least one new round
  ///   and returns the results of all new rounds.
  /// - If a running sequence sees drafts, step() returns in the middle of the
  ///   round (awaitsHost()). The next call runs the rest.
  ///
  /// Errors are those of the device. A kernel's fault on a GPU is Internal, and
  /// so is every later use of that GPU by any session of the process. The
  /// results from before the failure are returned, and the next step() returns
  /// the error.
  ///
  /// Nothing runs after an error: step(), add() and runFunction() return it
  /// again. All else works. Unfinished sequences stay as they are
  /// (unfinished()), with every token that step() has returned (output()). Each
  /// can run again in another session: append its output to its prompt, reduce
  /// maxTokens by the length of the output, and keep the sampling parameters.
  /// It continues with the same tokens, unless the model has states that a
  /// session saves over preemptions (`rebuild save`).
  Result<std::vector<SequenceUpdate>> step();

  /// Writes an input of a sequence that sees drafts (Request::seesDrafts). The
  /// next pass reads the value: a prefill or the second half of a stopped
  /// round. All later passes read it, too, also after preemptions. Until then
  /// the sequence keeps its earlier value. KV pages that rounds fill after the
  /// call are not shared. Entries of KV pages must not depend on the input if a
  /// preempted sequence is to continue with the same tokens.
  ///
  /// Errors: NotFound for an unknown id. FailedPrecondition for a sequence that
  /// has finished or does not see drafts. InvalidArgument for a name that the
  /// model does not have (Model::requestInputs()) or a value of another type.
  /// Also the error of a step() that failed, and those of the device.
  Status setInput(SequenceId id, RequestInput input);

  /// Whether a round has stopped, so that the next step() runs its second half.
  /// No sequence is admitted, prefilled or preempted before that. cancel()
  /// works; the round's results for a cancelled sequence are dropped.
  bool awaitsHost() const;

  /// Whether no sequence is waiting or running, so that step() has nothing to
  /// do. All sequences of unfinished() are then paused.
  bool idle() const;

  /// Sleeps until step() has something to do, until wake() is called, or for
  /// `seconds` seconds (infinity: without limit; 0: does not sleep). Returns
  /// whether step() has something to do. A wake() without a waiting thread ends
  /// the next wait().
  bool wait(double seconds);
  void wake();

  /// Ids of the sequences that wait, run or are paused, in order.
  std::vector<SequenceId> unfinished() const;

  /// Pauses a sequence: other sequences may use its slot and pages, and it
  /// waits for none until resume(). It then continues with the same tokens, as
  /// after a preemption: pages that the prefix cache still has are reused, and
  /// the rest is computed again.
  ///
  /// If the model has recurrent layers, their states are copied into a
  /// snapshot, together with KV entries, if there is memory for it
  /// (SessionOptions::snapshotBytes). The tokens before the snapshot are
  /// restored from it and from pages. Without a snapshot of this pause, all
  /// tokens after the last earlier snapshot are run again. No snapshot is made
  /// of a sequence whose input setInput() has changed.
  ///
  /// If a launch is running, the sequence first gets the tokens of the current
  /// round (the launch ends after that round). The step() that completes the
  /// launch pauses the sequence. Has no effect on a paused or finished
  /// sequence. cancel() works on a paused sequence.
  ///
  /// Errors: NotFound for an unknown id, the error of a step() that failed, and
  /// Internal if the device fails.
  Status pause(SequenceId id);

  /// Lets a paused sequence wait for a slot again, at its former place in the
  /// queue. Has no effect on a sequence that is not paused. NotFound for an
  /// unknown id, and the error of a step() that failed.
  Status resume(SequenceId id);

  /// Returns the state of a sequence; NotFound for an unknown id.
  Result<SequenceState> state(SequenceId id) const;
  /// Returns the number of sequences in each state.
  SequenceCounts counts() const;

  /// Ends a sequence now and frees its pages. NotFound for an unknown id. Has
  /// no effect on a finished sequence.
  Status cancel(SequenceId id);

  /// Removes a finished sequence. Until then output(), statistics(id) and
  /// logits() work, and the logits take memory. NotFound for an unknown id,
  /// FailedPrecondition for a sequence that has not finished.
  Status release(SequenceId id);

  /// Returns all output tokens so far, in order; valid until the next non-const
  /// call. NotFound for an unknown id.
  Result<std::span<const int32_t>> output(SequenceId id) const;
  /// Returns the reason why a sequence ended, or None, and its counts so far.
  /// NotFound for an unknown id.
  Result<FinishReason> finishReason(SequenceId id) const;
  Result<Statistics> statistics(SequenceId id) const;

  /// Returns the logits row, `vocab` elements long, from which output token
  /// `index` was picked; valid until the next non-const call. With
  /// LogitsMode::Last only the last token has a row. NotFound for an unknown
  /// id, OutOfRange past the output, FailedPrecondition if the session keeps no
  /// such row.
  Result<std::span<const float>> logits(SequenceId id, size_t index) const;

  /// Returns the counts since the session began. Later steps change them: use
  /// the reference on the thread that steps, or while no thread steps.
  const Statistics &statistics() const;
  /// Returns a copy of the session's counts, for any thread.
  Statistics copyStatistics() const;
  /// Returns how the KV pages are used now; all zero without an envelope.
  KvUsage kvUsage() const;

  /// Compares all page counts and tables with one another, for tests. Internal
  /// names the first that is wrong.
  Status checkInvariants() const;

  /// Returns a line for people about the kernels that multiply prompt rows:
  /// "own kernels", "cuBLASLt 13.1.0 for whole chunks of 128 rows". Empty
  /// without an envelope.
  const std::string &promptKernels() const;

  /// Return the options with all defaults filled in, and the model.
  const SessionOptions &options() const;
  const std::shared_ptr<const Model> &model() const;
  /// Returns the bytes of arena, states, KV pages and scratch, in the memory of
  /// the machine or of its GPU.
  uint64_t memoryBytes() const;

  /// Returns the bytes of one snapshot of recurrent states
  /// (SessionOptions::snapshotBytes); 0 if the model has none.
  uint64_t snapshotBytes() const;

  /// Runs an exported function. Sequences are not affected. Slots, positions,
  /// tokens and indices among the inputs are trusted, as those in the artifact
  /// are.
  ///
  /// A function that uses caches takes all KV pages for itself, and its entries
  /// stay there until sequences overwrite them.
  ///
  /// Each row of an input whose name ends in ".distributions", along its last
  /// dimension, must be finite numbers of 0 or more. Their sum must be at most
  /// 0.004 off 1.
  ///
  /// Errors: NotFound for an unknown name. InvalidArgument if count, types,
  /// shapes or byte counts of the inputs are not the function's, or a row is no
  /// distribution. ResourceExhausted if the results are larger than memory. A
  /// function that uses caches also fails with FailedPrecondition while pages
  /// are held or cached, or if the session has fewer pages than the default.
  Result<std::vector<Tensor>> runFunction(std::string_view name,
                                          std::span<const Tensor> inputs);

  class Impl;

private:
  /// For tests and tools; their headers are not installed.
  friend struct SessionFactory;
  friend struct SessionProfile;
  friend class SavedPrefix;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_SESSION_H
