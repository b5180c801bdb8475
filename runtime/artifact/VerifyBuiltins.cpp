//===- VerifyBuiltins.cpp - Checks of commands of builtin kernels ---------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/SamplingLayout.h"

#include <utility>
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

/// Checks the bytes of a command at n. Its counts and params must be right.
using Check = Status (*)(const CommandContext &context, uint64_t n);

/// Returns the check of a builtin.
static Check checkOf(const Builtin &builtin) {
  constexpr std::pair<std::string_view, Check> kChecks[] = {
      {"mtp.sample", checkSample},
      {"mtp.sample_mapped", checkSampleMapped},
      {"mtp.sample_parts", checkSampleParts},
      {"mtp.sample_parts_mapped", checkSamplePartsMapped},
      {"mtp.sample_scan", checkStretches<true, false>},
      {"mtp.sample_scan_mapped", checkStretches<true, true>},
      {"mtp.sample_join", checkStretches<false, false>},
      {"mtp.sample_join_mapped", checkStretches<false, true>}};
  for (const auto &[name, check] : kChecks)
    if (name == builtin.name)
      return check;
  return nullptr;
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
  Check check = checkOf(builtin);
  MTP_RETURN_IF_ERROR(check(context, context.first()));
  return check(context, context.last());
}
