//===- Builtins.cpp - Kernels that the runtime provides -------------------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/SamplingWords.h"

#include <vector>

using namespace mtp;

namespace {
/// A command of a sampling kernel at one n.
struct Sampling {
  Sampling(const CommandContext &context, uint64_t n)
      : context(context), n(n), rows(uint64_t(param(0))),
        vocab(uint64_t(param(1))),
        words(context.artifact.envelope->max_batch() *
              uint64_t(kSamplingWords)) {}

  int64_t param(size_t index) const { return context.params()[index].at(n); }

  const CommandContext &context;
  uint64_t n;
  uint64_t rows, vocab, words;
};
} // namespace

/// Checks that each place has at least the given number of 4-byte elements.
static Status checkElements(const Sampling &sampling,
                            const std::vector<uint64_t> &elements) {
  std::span<const Place> places = sampling.context.places();
  for (size_t i = 0; i < elements.size(); ++i) {
    uint64_t bytes = uint64_t(places[i].bytes.at(sampling.n));
    if (bytes < elements[i] * 4)
      return dataLoss(strCat("bindings[", i, "]: expected at least ",
                             elements[i] * 4, " bytes, got ", bytes));
  }
  return okStatus();
}

/// Checks mtp.sample: [logits, slots, positions, sampling, picks] / [M, V,
/// rows].
static Status checkSample(const CommandContext &context, uint64_t n) {
  Sampling s(context, n);
  return checkElements(s, {s.rows * s.vocab, s.rows, s.rows, s.words, s.rows});
}

/// Checks mtp.sample with tokens after the logits.
static Status checkSampleMapped(const CommandContext &context, uint64_t n) {
  Sampling s(context, n);
  return checkElements(
      s, {s.rows * s.vocab, s.vocab, s.rows, s.rows, s.words, s.rows});
}

/// Returns the number of winners of all parts: rows times the third param.
static Result<uint64_t> countWinners(const Sampling &sampling) {
  int64_t parts = sampling.param(2);
  if (parts < 1 || uint64_t(parts) > sampling.vocab)
    return dataLoss(strCat("params[2]: expected 1 to ", sampling.vocab,
                           " parts of the vocabulary, got ", parts));
  return sampling.rows * uint64_t(parts);
}

/// Checks mtp.sample_parts: [values, indices, logits, slots, positions,
/// sampling, picks] / [M, V, P].
static Status checkSampleParts(const CommandContext &context, uint64_t n) {
  Sampling s(context, n);
  MTP_ASSIGN_OR_RETURN(uint64_t winners, countWinners(s));
  return checkElements(
      s, {winners, winners, s.rows * s.vocab, s.rows, s.rows, s.words, s.rows});
}

/// Checks mtp.sample_parts with tokens after the logits.
static Status checkSamplePartsMapped(const CommandContext &context,
                                     uint64_t n) {
  Sampling s(context, n);
  MTP_ASSIGN_OR_RETURN(uint64_t winners, countWinners(s));
  return checkElements(s, {winners, winners, s.rows * s.vocab, s.vocab, s.rows,
                           s.rows, s.words, s.rows});
}

/// Checks mtp.sample_scan or mtp.sample_join, with or without tokens. The
/// buffers are those of mtp.sample_parts with buckets added before the picks or
/// in place of the picks.
template <bool isScan, bool isMapped>
static Status checkStretches(const CommandContext &context, uint64_t n) {
  Sampling s(context, n);
  MTP_ASSIGN_OR_RETURN(uint64_t winners, countWinners(s));
  uint64_t buckets = s.rows * uint64_t(sampleStretches(int64_t(s.vocab)) *
                                       kSampleStretchWords);
  std::vector<uint64_t> elements = {winners, winners, s.rows * s.vocab};
  if (isMapped)
    elements.push_back(s.vocab);
  elements.insert(elements.end(), {s.rows, s.rows, s.words, buckets});
  if (!isScan)
    elements.push_back(s.rows);
  return checkElements(s, elements);
}

static constexpr Builtin kBuiltins[] = {
    {"mtp.sample", 5, 3, false, checkSample},
    {"mtp.sample_mapped", 6, 3, false, checkSampleMapped},
    {"mtp.sample_parts", 7, 3, false, checkSampleParts},
    {"mtp.sample_parts_mapped", 8, 3, false, checkSamplePartsMapped},
    {"mtp.sample_scan", 7, 3, true, checkStretches<true, false>},
    {"mtp.sample_scan_mapped", 8, 3, true, checkStretches<true, true>},
    {"mtp.sample_join", 8, 3, false, checkStretches<false, false>},
    {"mtp.sample_join_mapped", 9, 3, false, checkStretches<false, true>}};

const Builtin *mtp::findBuiltin(std::string_view name) {
  for (const Builtin &builtin : kBuiltins)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}

/// Returns the number of tasks of a row.
static int64_t tasksPerRow(const Builtin &builtin, int64_t vocab) {
  return builtin.isScan ? sampleStretches(vocab) : 1;
}

int64_t mtp::builtinTasks(const Builtin &builtin,
                          std::span<const int64_t> params) {
  return params[0] * tasksPerRow(builtin, params[1]);
}

/// Checks rows and vocabulary. Only the rows may grow with n.
static Status checkParams(const CommandContext &context) {
  std::span<const Count> params = context.params();
  int64_t most = context.artifact.envelope->vocab();
  auto got = [&](size_t i) { return params[i].at(context.first()); };
  if (!isWithin(params[0], context.first(), context.last(), 1, 1 << 24))
    return dataLoss(strCat("params[0]: expected a row count, got ", got(0)));
  if (!params[1].isFixed() || got(1) < 1 || got(1) > most)
    return dataLoss(strCat("params[1]: expected a vocabulary of at most ", most,
                           ", got ", got(1)));
  if (!params[2].isFixed())
    return dataLoss("params[2]: expected the same for all n");
  return okStatus();
}

Status mtp::checkBuiltin(const CommandContext &context) {
  if (!context.artifact.envelope)
    return dataLoss("a sampling kernel needs an envelope");
  const Builtin &builtin =
      *findBuiltin(context.kernel().symbol()->string_view());
  MTP_RETURN_IF_ERROR(checkParams(context));
  // Elements grow linearly with the rows, so the first and last n are enough.
  MTP_RETURN_IF_ERROR(builtin.check(context, context.first()));
  return builtin.check(context, context.last());
}
