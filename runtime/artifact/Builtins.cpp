//===- Builtins.cpp - Kernels that the runtime brings ---------------------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/core/Result.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/SamplingWords.h"

#include <initializer_list>

using namespace mtp;

/// Checks rows and vocabulary, the first two params of a sampling kernel.
static Status checkRows(const schema::Artifact &artifact,
                        const schema::Command &command) {
  if (!artifact.envelope())
    return dataLoss("a sampling kernel needs an envelope");
  int64_t rows = command.params()->Get(0);
  int64_t vocab = command.params()->Get(1);
  if (rows < 1 || rows > (int64_t(1) << 24))
    return dataLoss(strCat("params[0]: expected a row count, got ", rows));
  if (vocab < 1 || vocab > int64_t(artifact.envelope()->vocab()))
    return dataLoss(strCat("params[1]: expected a vocabulary of at most ",
                           artifact.envelope()->vocab(), ", got ", vocab));
  if (command.tasks() != uint64_t(rows))
    return dataLoss(strCat("expected one task a row, got ", command.tasks(),
                           " for ", rows, " rows"));
  return okStatus();
}

/// Checks that each binding has at least so many elements of 4 bytes.
static Status checkElements(const schema::Command &command,
                            std::initializer_list<uint64_t> elements) {
  uint32_t i = 0;
  for (uint64_t count : elements) {
    uint64_t bytes = command.bindings()->Get(i)->bytes();
    if (bytes < count * 4)
      return dataLoss(strCat("bindings[", i, "]: expected at least ", count * 4,
                             " bytes, got ", bytes));
    ++i;
  }
  return okStatus();
}

/// The counts of elements that sampling kernels share; see device/cpu/Builtins.
struct SampleCounts {
  SampleCounts(const schema::Artifact &artifact, const schema::Command &command)
      : rows(uint64_t(command.params()->Get(0))),
        vocab(uint64_t(command.params()->Get(1))),
        words(artifact.envelope()->max_batch() * uint64_t(kSamplingWords)) {}

  uint64_t rows, vocab, words;
};

/// mtp.sample: [logits, slots, positions, sampling, picks] / [M, V, rows].
static Status checkSample(const schema::Artifact &artifact,
                          const schema::Command &command) {
  MTP_RETURN_IF_ERROR(checkRows(artifact, command));
  SampleCounts n(artifact, command);
  return checkElements(command,
                       {n.rows * n.vocab, n.rows, n.rows, n.words, n.rows});
}

/// The same with tokens behind the logits.
static Status checkSampleMapped(const schema::Artifact &artifact,
                                const schema::Command &command) {
  MTP_RETURN_IF_ERROR(checkRows(artifact, command));
  SampleCounts n(artifact, command);
  return checkElements(
      command, {n.rows * n.vocab, n.vocab, n.rows, n.rows, n.words, n.rows});
}

/// Returns the winners of all parts, rows times the third param.
static Result<uint64_t> countWinners(const schema::Command &command) {
  uint64_t rows = uint64_t(command.params()->Get(0));
  int64_t vocab = command.params()->Get(1);
  int64_t parts = command.params()->Get(2);
  if (parts < 1 || parts > vocab)
    return dataLoss(strCat("params[2]: expected 1 to ", vocab,
                           " parts of the vocabulary, got ", parts));
  return rows * uint64_t(parts);
}

/// mtp.sample_parts: [values, indices, logits, slots, positions, sampling,
/// picks] / [M, V, P].
static Status checkSampleParts(const schema::Artifact &artifact,
                               const schema::Command &command) {
  MTP_RETURN_IF_ERROR(checkRows(artifact, command));
  MTP_ASSIGN_OR_RETURN(uint64_t winners, countWinners(command));
  SampleCounts n(artifact, command);
  return checkElements(command, {winners, winners, n.rows * n.vocab, n.rows,
                                 n.rows, n.words, n.rows});
}

/// The same with tokens behind the logits.
static Status checkSamplePartsMapped(const schema::Artifact &artifact,
                                     const schema::Command &command) {
  MTP_RETURN_IF_ERROR(checkRows(artifact, command));
  MTP_ASSIGN_OR_RETURN(uint64_t winners, countWinners(command));
  SampleCounts n(artifact, command);
  return checkElements(command, {winners, winners, n.rows * n.vocab, n.vocab,
                                 n.rows, n.rows, n.words, n.rows});
}

static constexpr Builtin kBuiltins[] = {
    {"mtp.sample", 5, 3, checkSample},
    {"mtp.sample_mapped", 6, 3, checkSampleMapped},
    {"mtp.sample_parts", 7, 3, checkSampleParts},
    {"mtp.sample_parts_mapped", 8, 3, checkSamplePartsMapped}};

const Builtin *mtp::findBuiltin(std::string_view name) {
  for (const Builtin &builtin : kBuiltins)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}
