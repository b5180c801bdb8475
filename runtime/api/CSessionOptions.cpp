//===- CSessionOptions.cpp - Options of sessions from C -------------------===//

#include "runtime/api/CSupport.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"

using namespace mtp;
using namespace mtp::capi;

static_assert(MTP_LOGITS_LAST == int(LogitsMode::Last) &&
              MTP_LOGITS_ALL == int(LogitsMode::All));

extern "C" void(mtp_session_options_init)(mtp_session_options *options) {
  clear(options);
  if (!options)
    return;
  options->k = MTP_K_MAXIMUM;
  options->prefix_cache = 1;
  options->prompt_milliseconds = SessionOptions().promptMilliseconds;
  options->snapshot_bytes = SessionOptions().snapshotBytes;
  options->snapshot_tokens = SessionOptions().snapshotTokens;
  options->draft_p_min = MTP_DRAFT_P_MIN_DEFAULT;
}

extern "C" void mtp_session_options_init_sized(mtp_session_options *options,
                                               size_t size) {
  initSized(options, size, mtp_session_options_init);
}

std::optional<float> capi::readDraftPMin(float given) {
  return given == MTP_DRAFT_P_MIN_DEFAULT ? std::nullopt : std::optional(given);
}

Result<SessionOptions> capi::readOptions(const mtp_session_options *options) {
  MTP_ASSIGN_OR_RETURN(
      mtp_session_options given,
      fromCaller(options, mtp_session_options_init, "mtp_session_options"));
  if (given.k < 0 && given.k != MTP_K_MAXIMUM && given.k != MTP_K_AUTO)
    return invalidArgument(strCat("expected k of 0 or more, MTP_K_MAXIMUM (",
                                  MTP_K_MAXIMUM, ") or MTP_K_AUTO (",
                                  MTP_K_AUTO, "), got ", given.k));
  if (given.logits < MTP_LOGITS_NONE || given.logits > MTP_LOGITS_ALL)
    return invalidArgument(strCat("expected logits of 0 to ",
                                  int(MTP_LOGITS_ALL), ", got ", given.logits));
  SessionOptions o;
  if (given.k >= 0)
    o.k = uint32_t(given.k);
  o.automaticK = given.k == MTP_K_AUTO;
  o.threads = given.threads;
  o.kvPages = given.kv_pages;
  o.maxSlots = given.max_slots;
  o.prefillChunk = given.prefill_chunk;
  o.chunksPerStep = given.chunks_per_step;
  o.roundsPerLaunch = given.rounds_per_launch;
  o.pinThreads = given.pin_threads != 0;
  o.prefixCache = given.prefix_cache != 0;
  o.logits = LogitsMode(given.logits);
  o.deterministic = given.deterministic != 0;
  o.promptMilliseconds = given.prompt_milliseconds;
  o.stepMilliseconds = given.step_milliseconds;
  o.separatePrompts = given.separate_prompts != 0;
  o.snapshotBytes = given.snapshot_bytes;
  o.snapshotTokens = given.snapshot_tokens;
  o.populateMemory = given.populate_memory != 0;
  o.draftPMin = readDraftPMin(given.draft_p_min);
  MTP_RETURN_IF_ERROR(needArray(given.capture_sizes, given.capture_size_count,
                                "capture_sizes"));
  if (given.capture_size_count > kMostSlots)
    return invalidArgument(strCat("expected a capture_size_count of at most ",
                                  kMostSlots, ", got ",
                                  given.capture_size_count));
  o.captureSizes.assign(given.capture_sizes,
                        given.capture_sizes + given.capture_size_count);
  return o;
}
