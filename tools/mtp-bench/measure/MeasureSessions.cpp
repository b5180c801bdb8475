//===- MeasureSessions.cpp - Compare fixed and automatic k ----------------===//

#include "mtp/session.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-bench/measure/Measure.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::bench;

/// Returns the user's prompt for a slot. Each slot skips another number of
/// first tokens, and so has another text.
static Request requestOf(const Options &options, uint32_t slot) {
  Request request;
  size_t first = std::min<size_t>(slot, options.ids.size() - 1);
  request.prompt.assign(options.ids.begin() + long(first), options.ids.end());
  request.maxTokens = options.tokens;
  request.ignoreEos = true;
  return request;
}

/// Sets the slots of a session, and the captured sizes up to them. Rounds of
/// `batch` slots have padding slots up to the next size.
static void setSlots(uint32_t batch, SessionOptions &o) {
  std::ranges::sort(o.captureSizes);
  auto next = std::ranges::lower_bound(o.captureSizes, batch);
  o.maxSlots = next == o.captureSizes.end() ? batch : *next;
  std::erase_if(o.captureSizes, [&](uint32_t of) { return of > o.maxSlots; });
}

/// Runs a session until all of its requests have ended.
static Status runSession(const std::shared_ptr<const Model> &model,
                         const Options &options, SessionResult &result) {
  SessionOptions o = options.session;
  if (!result.isAutomatic)
    o.k = result.k;
  o.automaticK = result.isAutomatic;
  setSlots(result.batch, o);
  o.prefixCache = false;
  o.chunksPerStep = SessionOptions::kUnbounded;
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                       Session::create(model, o));
  for (uint32_t slot = 0; slot < result.batch; ++slot)
    MTP_RETURN_IF_ERROR(session->add(requestOf(options, slot)).status());
  while (!session->idle())
    MTP_RETURN_IF_ERROR(session->step().status());
  const Statistics &s = session->statistics();
  result.tokensPerSecond.push_back(double(s.decodeTokens) / s.decodeSeconds);
  result.rounds.resize(std::max(result.rounds.size(), s.roundsByK.size()));
  for (size_t k = 0; k < s.roundsByK.size(); ++k)
    result.rounds[k] += s.roundsByK[k];
  result.paddedRounds += s.paddedRounds;
  return okStatus();
}

Status bench::measureSessions(const std::shared_ptr<const Model> &model,
                              const Options &options,
                              std::vector<SessionResult> &results) {
  for (uint32_t batch : options.batches) {
    size_t first = results.size();
    for (uint32_t k : options.ks)
      results.push_back({batch, k, /*isAutomatic=*/false, {}, {}});
    results.push_back({batch, 0, /*isAutomatic=*/true, {}, {}});
    for (uint32_t turn = 0; turn < options.turns; ++turn)
      for (size_t i = first; i < results.size(); ++i) {
        SessionResult &result = results[i];
        MTP_RETURN_IF_ERROR(runSession(model, options, result));
        reportTurn(options, turn,
                   strCat("a session, batch ", batch, ", k = ",
                          result.isAutomatic ? std::string("auto")
                                             : std::to_string(result.k)),
                   1 / result.tokensPerSecond.back());
      }
  }
  return okStatus();
}
