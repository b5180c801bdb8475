//===- Builtins.cpp - Kernels that the runtime brings ---------------------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/core/Result.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/SamplingWords.h"

#include <vector>

using namespace mtp;

/// Checks rows and vocabulary, the first two params of a sampling kernel.
static Status checkParams(const schema::Artifact &artifact,
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
  return okStatus();
}

/// Checks the same, and that rows are divided into `stretches` tasks each.
static Status checkRows(const schema::Artifact &artifact,
                        const schema::Command &command, int64_t stretches = 1) {
  MTP_RETURN_IF_ERROR(checkParams(artifact, command));
  int64_t rows = command.params()->Get(0);
  if (command.tasks() == uint64_t(rows * stretches))
    return okStatus();
  std::string tasks =
      stretches == 1 ? "one task" : strCat(stretches, " tasks");
  return dataLoss(strCat("expected ", tasks, " a row, got ", command.tasks(),
                         " for ", rows, " rows"));
}

/// Checks that each binding has at least so many elements of 4 bytes.
static Status checkElements(const schema::Command &command,
                            const std::vector<uint64_t> &elements) {
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

/// Checks mtp.sample_scan, or mtp.sample_join, which has a task a row, either
/// with or without tokens: the buffers of mtp.sample_parts, but that buckets
/// stand before the picks or in their place.
static Status checkStretches(const schema::Artifact &artifact,
                             const schema::Command &command, bool isScan,
                             bool isMapped) {
  MTP_RETURN_IF_ERROR(checkParams(artifact, command));
  int64_t stretches = sampleStretches(command.params()->Get(1));
  MTP_RETURN_IF_ERROR(checkRows(artifact, command, isScan ? stretches : 1));
  MTP_ASSIGN_OR_RETURN(uint64_t winners, countWinners(command));
  SampleCounts n(artifact, command);
  uint64_t buckets = n.rows * uint64_t(stretches * kSampleStretchWords);
  std::vector<uint64_t> elements = {winners, winners, n.rows * n.vocab};
  if (isMapped)
    elements.push_back(n.vocab);
  elements.insert(elements.end(), {n.rows, n.rows, n.words, buckets});
  if (!isScan)
    elements.push_back(n.rows);
  return checkElements(command, elements);
}

template <bool isScan, bool isMapped>
static Status checkStretches(const schema::Artifact &artifact,
                             const schema::Command &command) {
  return checkStretches(artifact, command, isScan, isMapped);
}

static constexpr Builtin kBuiltins[] = {
    {"mtp.sample", 5, 3, checkSample},
    {"mtp.sample_mapped", 6, 3, checkSampleMapped},
    {"mtp.sample_parts", 7, 3, checkSampleParts},
    {"mtp.sample_parts_mapped", 8, 3, checkSamplePartsMapped},
    {"mtp.sample_scan", 7, 3, checkStretches<true, false>},
    {"mtp.sample_scan_mapped", 8, 3, checkStretches<true, true>},
    {"mtp.sample_join", 8, 3, checkStretches<false, false>},
    {"mtp.sample_join_mapped", 9, 3, checkStretches<false, true>}};

const Builtin *mtp::findBuiltin(std::string_view name) {
  for (const Builtin &builtin : kBuiltins)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}
