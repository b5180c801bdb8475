//===- Options.cpp - Check options against the artifact -------------------===//

#include "tools/mtp-bench/measure/Options.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::bench;

/// A context long enough to show in attention and short to fill.
static constexpr uint32_t kDefaultContext = 512;
static constexpr uint32_t kDefaultPrefill = 128;

bool Options::wants(std::string_view what) const {
  return measure.empty() ||
         std::find(measure.begin(), measure.end(), what) != measure.end();
}

bool Options::wantsSessions() const {
  return !measure.empty() && wants("sessions");
}

bool Options::hasPoints() const {
  return wants("decode") || wants("rows") ||
         (wants("speculative") && ids.empty());
}

bool bench::isMeasurement(std::string_view what) {
  return what == "decode" || what == "rows" || what == "prefill" ||
         what == "speculative" || what == "sessions";
}

/// Checks that every number of a list is in [least, most].
static Status checkRange(const char *flag, const std::vector<uint32_t> &values,
                         uint32_t least, uint32_t most, const char *why) {
  for (uint32_t value : values)
    if (value < least || value > most)
      return invalidArgument(strCat(flag, ": expected ", least, " to ", most,
                                    " (", why, "), got ", value));
  return okStatus();
}

static Status checkIds(const Options &o, const EnvelopeInfo &e) {
  for (int32_t id : o.ids)
    if (id < 0 || uint32_t(id) >= e.vocab)
      return invalidArgument(strCat("--ids: expected tokens of 0 to ",
                                    e.vocab - 1, " (the vocabulary), got ",
                                    id));
  if (!o.ids.empty() && !o.acceptance.empty())
    return invalidArgument("expected one of --ids, whose acceptance is "
                           "measured, and --acceptance, got both");
  if (!o.ids.empty() && o.estimate == Estimate::Fastest)
    return invalidArgument("--estimate: expected median with --ids (rounds of "
                           "a text differ in their work), got fastest");
  if (!o.ids.empty() && o.ids.size() + o.tokens > e.maxContext)
    return invalidArgument(
        strCat("--ids: expected at most ", e.maxContext,
               " tokens with --max-tokens (the envelope's context), got ",
               o.ids.size(), " and ", o.tokens));
  return okStatus();
}

Status bench::settle(Options &o, const EnvelopeInfo *envelope) {
  if (!envelope)
    return failedPrecondition("the artifact has functions only; expected one "
                              "with a round");
  const EnvelopeInfo &e = *envelope;
  // The first row that a module refreshes is up to k + modules before the
  // anchor.
  uint32_t least = std::min(e.maxK + e.modules + 1, e.maxContext);
  MTP_RETURN_IF_ERROR(
      checkRange("--batch", o.batches, 1, e.maxBatch, "the envelope's batch"));
  MTP_RETURN_IF_ERROR(checkRange("--capture-sizes", o.session.captureSizes, 1,
                                 e.maxBatch, "the envelope's batch"));
  MTP_RETURN_IF_ERROR(checkRange("--context", o.contexts, least, e.maxContext,
                                 "the envelope's context"));
  MTP_RETURN_IF_ERROR(checkRange("--prefill-behind", {o.prefillBehind}, 0,
                                 e.maxContext - 1, "the envelope's context"));
  MTP_RETURN_IF_ERROR(checkRange("--prefill", o.prefills, 1,
                                 e.maxContext - o.prefillBehind,
                                 o.prefillBehind ? "the envelope's context "
                                                   "after --prefill-behind"
                                                 : "the envelope's context"));
  MTP_RETURN_IF_ERROR(checkRange("-k", o.ks, 0, e.maxK, "the envelope's k"));
  MTP_RETURN_IF_ERROR(
      checkRange("--drafts", o.drafts, 0, e.maxK, "the envelope's k"));
  MTP_RETURN_IF_ERROR(
      checkRange("--period", {o.period}, 0, e.vocab, "the vocabulary"));
  MTP_RETURN_IF_ERROR(
      checkRange("--turns", {o.turns}, 1, 10000, "turns of all points"));
  MTP_RETURN_IF_ERROR(
      checkRange("--max-tokens", {o.tokens}, 1, e.maxContext, "the context"));
  MTP_RETURN_IF_ERROR(checkRates(o.acceptance));
  MTP_RETURN_IF_ERROR(checkIds(o, e));
  if (o.batches.empty())
    o.batches = {1};
  if (o.contexts.empty())
    o.contexts = {std::max(least, std::min(kDefaultContext, e.maxContext / 2))};
  if (o.prefills.empty())
    o.prefills = {std::min(kDefaultPrefill, e.maxContext - o.prefillBehind)};
  if (o.ks.empty())
    for (uint32_t k = 0; k <= e.maxK; ++k)
      o.ks.push_back(k);
  return okStatus();
}
