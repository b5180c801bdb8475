//===- model.h - A loaded artifact ------------------------------*- C++ -*-===//
//
// Units: sizes are in tokens or bytes, as each says.
//
// Ownership: what is returned by reference, pointer or view belongs to the
// model and lives as long as it does. What is given is read during the call
// alone.
//
// Threads: a model is immutable, and any number of threads may share one.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_MODEL_H
#define MTP_MODEL_H

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
  /// The most draft tokens that a round may accept. Zero when there is no
  /// drafter.
  uint32_t maxK = 0;
  /// The most sequences in a round.
  uint32_t maxBatch = 0;
  /// The most tokens, prompt and output together, of one sequence.
  uint32_t maxContext = 0;
  /// The default chunk of a prompt, in tokens.
  uint32_t prefillChunk = 0;
  /// Chunk sizes that SessionOptions::prefillChunk may name, ascending. Of
  /// sizes without a gap between them only the largest; mtpc writes programs
  /// for all up to the chunk.
  std::vector<uint32_t> prefillChunks;
  /// Tokens in one KV page.
  uint32_t pageTokens = 0;
  /// Token ids are 0 .. vocab-1.
  uint32_t vocab = 0;
  /// How many places ahead of a token the drafters read while a prompt is
  /// computed: for a chain the number of its modules, zero for drafters that
  /// read no tokens ahead.
  uint32_t modules = 0;
  /// The most rows of a sequence that a round verifies: maxK + 1 of a chain,
  /// more of a tree with siblings.
  uint32_t maxNodes = 1;
  /// The most rows of all sequences together that a round verifies: less than
  /// maxNodes * maxBatch where the artifact has a budget (`max_rows`).
  uint32_t maxRows = 1;
};

/// What the model's authors recommend, from their generation config. Sessions
/// end sequences at `eos`; the rest is for callers to apply.
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
};

struct ChatSource;

/// What runs a model.
enum class DeviceKind : uint8_t {
  /// The CPU, and a GPU where the artifact is for GPUs alone.
  Auto,
  Cpu,
  /// An NVIDIA GPU (LoadOptions::gpu) of the driver libcuda.so.1, or of the one
  /// that the variable MTP_CUDA_DRIVER of the environment names.
  Cuda,
};

struct LoadOptions {
  /// Compares the whole file with its hashes, which reads all of it. Otherwise
  /// only tables, code, tokenizer and segments of at most 16 MiB are compared.
  /// Larger weights are then read when they are first used, and a damaged byte
  /// in them gives other tokens and no error.
  bool checkAllHashes = false;
  /// Copies the file into memory of the process's own instead of mapping it,
  /// with large pages where the system has them. Loading then reads the whole
  /// file, and processes do not share its memory. In return, steps spend less
  /// time on translating addresses, and the file may change afterwards.
  bool copy = false;
  /// Which plan of the artifact sessions run, and on what.
  DeviceKind device = DeviceKind::Auto;
  /// Which of the driver's GPUs, from 0 on, where one runs the model. That the
  /// driver has it is asked when a session begins.
  uint32_t gpu = 0;
};

/// An output that a model declares, for which requests may ask.
struct RequestOutputType {
  std::string name;
  /// Of one row: a scalar, or as many numbers.
  TensorType row;
  /// A row for each token that is put out; else for each slot of a round.
  bool isPerToken = false;
};

/// An artifact is a program: it holds machine code, which runs with all that
/// the process may do. Load only what comes from someone whose programs you
/// would run. What load() checks finds damage and mistakes of compilers, not
/// malice: runtime/artifact/README.md says what is and what is not checked.
///
/// A model is an artifact, checked and mapped. Immutable: any number of threads
/// and sessions may share one. The file may be deleted or renamed while it is
/// mapped; truncating it in place makes the process fault (SIGBUS), unless it
/// was copied.
class Model {
public:
  /// Maps, or copies, and verifies a file.
  ///
  /// Errors: NotFound and InvalidArgument when it cannot be opened, DataLoss
  /// when it is no intact artifact, FailedPrecondition when it was made for
  /// another version of the format, or has no plan for the device that was
  /// asked for, ResourceExhausted without the memory for it. Messages start
  /// with `path`.
  static Result<std::shared_ptr<const Model>>
  load(const std::string &path, const LoadOptions &options = {});

  ~Model();

  /// Null when the artifact has functions only and cannot generate.
  const EnvelopeInfo *envelope() const;
  /// What requests may use; no session applies it but for the end tokens.
  const GenerationInfo &generation() const;

  /// Chat templates and their variables (mtp/chat.h), not parsed; null when the
  /// artifact has none.
  const ChatSource *chatTemplate() const;

  /// Cpu or Cuda. Whether the machine has it is asked when a session begins.
  DeviceKind device() const;
  /// The number of the GPU where that is the device, else 0.
  uint32_t gpu() const;

  /// The program that wrote the file, and the model's name (may be empty).
  std::string_view producer() const;
  std::string_view name() const;

  /// How rounds draft ("mtp", "lookup:2,5") and the rule by which drafts are
  /// accepted ("exact", "typical:0.09,0.3"), one line each, for people; empty
  /// where the artifact does not say.
  std::string_view method() const;
  std::string_view rule() const;
  /// Whether texts with drafts have another distribution than those without, by
  /// the rule: a lossy one was asked for.
  bool isLossy() const;

  /// The bytes of the tokenizer segment; empty without one. They live as long
  /// as this object and start at a multiple of 4096.
  std::span<const uint8_t> tokenizer() const;

  /// Names of all exported functions, without "@".
  std::vector<std::string> functions() const;

  /// Arguments and results of a function, in order. Fails with NotFound for
  /// other names.
  Result<std::vector<PortType>> functionInputs(std::string_view name) const;
  Result<std::vector<PortType>> functionOutputs(std::string_view name) const;

  /// What requests may bring: names, and types of one request's part. Empty
  /// where the model declares nothing.
  std::vector<PortType> requestInputs() const;

  /// What requests may ask for: names, and types and shapes of one row. Empty
  /// where the model declares nothing.
  std::vector<RequestOutputType> requestOutputs() const;

  /// Whether rounds may stop so that the host sees their drafts before they are
  /// verified (Request::seesDrafts).
  bool showsDrafts() const;

  struct Impl;

private:
  friend class Session;
  /// Of tools that look inside the file; its header is not installed.
  friend struct ModelAccess;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mtp

#endif // MTP_MODEL_H
