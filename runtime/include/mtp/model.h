//===- model.h - A loaded artifact ------------------------------*- C++ -*-===//
//
// Units: sizes are in tokens or bytes, as each comment says.
//
// Ownership: returned references, pointers and views belong to the model and
// live as long as the model. Arguments are read only during the call.
//
// Threads: a model is immutable, and any number of threads may share one.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_MODEL_H
#define MTP_RUNTIME_INCLUDE_MTP_MODEL_H

#include "mtp/result.h"
#include "mtp/tensor.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// The largest shapes that an artifact was compiled for. A session can run any
/// shape within these limits and none beyond them.
struct EnvelopeInfo {
  /// Maximum number of draft tokens that a round may accept. Zero if there is
  /// no drafter.
  uint32_t maxK = 0;
  /// Maximum number of sequences in a round.
  uint32_t maxBatch = 0;
  /// Maximum number of tokens of one sequence, prompt and output together.
  uint32_t maxContext = 0;
  /// The default chunk of a prompt, in tokens.
  uint32_t prefillChunk = 0;
  /// Chunk sizes that SessionOptions::prefillChunk may name, ascending. Of a
  /// range of sizes without a gap, only the largest is listed; mtpc writes
  /// programs for all sizes up to the chunk.
  std::vector<uint32_t> prefillChunks;
  /// Tokens in one KV page.
  uint32_t pageTokens = 0;
  /// Token ids are 0 .. vocab-1.
  uint32_t vocab = 0;
  /// How many positions ahead of a token the drafters read while a prompt is
  /// computed. For a chain it is the number of modules, and zero for drafters
  /// that do not read tokens ahead.
  uint32_t modules = 0;
  /// Maximum number of rows that a round verifies for one sequence: maxK + 1
  /// for a chain, more for a tree with siblings.
  uint32_t maxNodes = 1;
  /// Maximum number of rows that a round verifies for all sequences together:
  /// less than maxNodes * maxBatch if the artifact has a row budget
  /// (`max_rows`).
  uint32_t maxRows = 1;
};

/// Recommendations of the model's authors, from their generation config.
/// Sessions end sequences at `eos`; the caller applies the rest.
struct GenerationInfo {
  /// The token that begins a text, if the model has one.
  std::optional<int32_t> bos;
  /// Whether a prompt should start with `bos`.
  bool addBos = false;
  /// Tokens that end a text; not part of the output.
  std::vector<int32_t> eos;
  /// Zero: greedy.
  float temperature = 0;
  /// Zero: off.
  uint32_t topK = 0;
  /// One: off.
  float topP = 1;
  /// Zero: off.
  float minP = 0;
  /// LogitRules::repetitionPenalty. One: off.
  float repetitionPenalty = 1;
};

struct ChatSource;

/// The device that runs a model.
enum class DeviceKind : uint8_t {
  /// The CPU, or a GPU if the artifact has plans for GPUs only.
  Auto,
  Cpu,
  /// An NVIDIA GPU (LoadOptions::gpu). The driver is libcuda.so.1, or the
  /// library that the environment variable MTP_CUDA_DRIVER names.
  Cuda,
};

struct LoadOptions {
  /// Compares the whole file with its hashes, which reads all of it. Otherwise
  /// only tables, code, tokenizer and segments of at most 16 MiB are compared.
  /// Larger weights are then read when they are first used, and a damaged byte
  /// in them gives wrong tokens without an error.
  bool checkAllHashes = false;
  /// Copies the file into the process's own memory instead of mapping it, with
  /// large pages if the system has them. Loading then reads the whole file, and
  /// processes do not share its memory. In return, steps spend less time on
  /// address translation, and the file may change afterwards.
  bool copy = false;
  /// The device to run on, which decides the plan of the artifact.
  DeviceKind device = DeviceKind::Auto;
  /// Index of the GPU among those of the driver, from 0. Session::create()
  /// checks that the driver has it.
  uint32_t gpu = 0;
  /// Path of a profile that mtp-tune or mtp-serve wrote; empty: none. Sessions
  /// start from its costs and acceptance. On a GPU it also chooses the CUDA
  /// graphs of rounds. No token depends on it.
  std::string profile;
};

/// An output that a model declares, for which requests may ask.
struct RequestOutputType {
  std::string name;
  /// Type of one row: a scalar, or a vector of numbers.
  TensorType row;
  /// True: one row for each output token. False: one row for each slot of a
  /// round.
  bool isPerToken = false;
};

/// A checked and mapped artifact.
///
/// An artifact contains native code that runs with all rights of the process.
/// Load only artifacts that you trust. The checks of load() find damage and
/// compiler mistakes, not malice: runtime/artifact/README.md lists the checks.
///
/// Immutable: any number of threads and sessions may share one. The file may be
/// deleted or renamed while it is mapped. Truncating it in place makes the
/// process fault (SIGBUS), unless it was copied.
class Model {
public:
  /// Maps, or copies, and verifies a file.
  ///
  /// Errors: NotFound and InvalidArgument if the file cannot be opened,
  /// DataLoss if it is no intact artifact. FailedPrecondition if it was made
  /// for another version of the format, or has no plan for the requested
  /// device. ResourceExhausted if memory is short. Messages start with `path`.
  /// For a profile: DataLoss if it is damaged, FailedPrecondition if it is of
  /// another model. Messages then start with the profile's path.
  static Result<std::shared_ptr<const Model>>
  load(const std::string &path, const LoadOptions &options = {});

  ~Model();

  /// Returns the envelope; null if the artifact has only functions and cannot
  /// generate.
  const EnvelopeInfo *envelope() const;
  /// Returns the recommended settings. Sessions apply only the end tokens.
  const GenerationInfo &generation() const;

  /// Returns the chat templates and their variables (mtp/chat.h), not parsed;
  /// null if the artifact has none.
  const ChatSource *chatTemplate() const;

  /// Returns Cpu or Cuda. Session::create() checks that the machine has the
  /// device.
  DeviceKind device() const;
  /// Returns the index of the GPU, or 0 if the device is the CPU.
  uint32_t gpu() const;

  /// Return the program that wrote the file, and the model's name (may be
  /// empty).
  std::string_view producer() const;
  std::string_view name() const;

  /// The drafting method ("mtp", "lookup:2,5") and the accept rule ("exact",
  /// "typical:0.09,0.3"), one line of text each, for display. Empty if the
  /// artifact does not contain them.
  std::string_view method() const;
  std::string_view rule() const;
  /// Whether the accept rule is lossy: texts with drafts then have another
  /// distribution than texts without drafts.
  bool isLossy() const;

  /// Returns the bytes of the tokenizer segment; empty if there is none. They
  /// live as long as the model and start at a multiple of 4096.
  std::span<const uint8_t> tokenizer() const;

  /// Returns the names of all exported functions, without "@".
  std::vector<std::string> functions() const;

  /// Arguments and results of a function, in order. Fails with NotFound for an
  /// unknown name.
  Result<std::vector<PortType>> functionInputs(std::string_view name) const;
  Result<std::vector<PortType>> functionOutputs(std::string_view name) const;

  /// Returns the inputs that requests may have: names, and types of one
  /// request's part. Empty if the model declares none.
  std::vector<PortType> requestInputs() const;

  /// Returns the outputs that requests may ask for: names, and types and shapes
  /// of one row. Empty if the model declares none.
  std::vector<RequestOutputType> requestOutputs() const;

  /// Whether rounds can stop so that the host sees their drafts before they are
  /// verified (Request::seesDrafts).
  bool showsDrafts() const;
  /// Returns whether requests may have LogitRules: the model was imported with
  /// them.
  bool hasLogitRules() const;
  /// Whether requests may constrain their tokens (Request::constraint).
  bool masksTokens() const;

  /// Whether requests may ask for log-probabilities of their prompts
  /// (LogprobsRequest::prompt): whether the artifact has the function
  /// "prompt_logits" in a form that works in the pages of slots.
  bool scoresPrompts() const;

  struct Impl;

private:
  friend class Session;
  /// For tools that look inside the file; its header is not installed.
  friend struct ModelAccess;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_MODEL_H
